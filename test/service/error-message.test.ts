/** Promise: the service's own message is found and told (contract, section 9). */

import { describe, expect, test } from 'vitest'
import { replyText, serviceMessage } from '../../src/service/failures.ts'

const messageIn = (body: unknown, nameFields?: (text: string) => string) =>
  serviceMessage(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), nameFields)

describe('the message of a refusal', () => {
  test.each([
    ['message', 'message'],
    ['error_message', 'error_message'],
    ['errorMessage', 'errorMessage'],
    ['detail', 'detail'],
    ['error_description', 'error_description'],
    ['description', 'description'],
    ['reason', 'reason'],
    ['faultstring', 'faultstring'],
    ['msg', 'msg'],
    ['title', 'title'],
    ['Error-Message', 'Error-Message'],
  ])('stands under %s', (key) => expect(messageIn({ [key]: 'Closed.', other: 'no' })).toBe('Closed.'))

  test('is the most specific one', () => {
    const keys = [
      'message',
      'errorMessage',
      'detail',
      'errorDescription',
      'description',
      'reason',
      'faultstring',
      'msg',
    ]
    for (const [i, key] of [...keys, 'title'].entries()) {
      const less = [...keys, 'title'].slice(i).toReversed()
      expect(messageIn(Object.fromEntries(less.map((one) => [one, `the ${one}`])))).toBe(`the ${key}`)
    }
    expect(messageIn({ message: ' ', title: 'Said.' })).toBe('Said.')
  })

  test.each(['error', 'errors', 'messages', 'fault', 'fields', 'violations', 'details', 'data'])(
    'may be nested in %s, as an entry, in a list or by field',
    (holder) => {
      expect(messageIn({ [holder]: { message: 'Closed.' } })).toBe('Closed.')
      expect(messageIn({ [holder]: 'Closed.' })).toBe('Closed.')
      expect(messageIn({ [holder]: ['Closed.', { detail: 'Full.' }] })).toBe('Closed.; Full.')
      expect(
        messageIn({ [holder]: { zip: ['is wrong', 'is short'], code: 'E1', status: 'bad', vin: 'is long' } }),
      ).toBe('zip: is wrong; zip: is short; vin: is long')
    },
  )

  test('is followed by those of its holders, in their order', () => {
    expect(messageIn({ data: 'Third.', errors: ['Second.'], message: 'First.' })).toBe('First.; Second.; Third.')
  })

  test.each(['field', 'path', 'property_path', 'propertyPath', 'param'])('is told with its %s', (key) => {
    expect(messageIn({ errors: [{ [key]: 'zip', message: 'is wrong' }] })).toBe('zip: is wrong')
    expect(messageIn({ errors: [{ [key]: 'zip', message: 'the zip is wrong' }] })).toBe('the zip is wrong')
    expect(messageIn({ errors: [{ [key]: '/v2/quote', message: 'is wrong' }] })).toBe('is wrong')
    expect(messageIn({ errors: [{ [key]: 5, message: 'is wrong' }] })).toBe('is wrong')
  })

  test.each([
    ['plain text', 'Closed.', 'Closed.'],
    ['text with space around', ' \n Closed. \n', 'Closed.'],
    ['text in two lines', 'Closed.\nCome back.', 'Closed. Come back.'],
    ['a JSON string', '"Closed."', 'Closed.'],
    ['a list', '["Closed.", "Full."]', 'Closed.; Full.'],
    ['JSON that ends early', '{"message": "Clo', undefined],
    ['numbers', '{"message": 5}', undefined],
    ['null', '{"message": null, "errors": null}', undefined],
    ['nothing', '', undefined],
    ['no message', '{"id": "a", "status": 422}', undefined],
  ])('is read from %s', (_, body, message) => expect(messageIn(body)).toBe(message))

  test.each([
    '<!doctype html><title>502</title>',
    'Sorry<br>no',
    'Sorry</p>',
    'Sorry<H1>no',
    ...['html', 'head', 'body', 'title', 'p', 'b', 'hr', 'div', 'span', 'pre', 'center', 'a', 'table'].map(
      (tag) => `x <${tag} class="y">`,
    ),
  ])('is never HTML: %s', (text) => {
    expect(messageIn(text)).toBeUndefined()
    expect(messageIn({ message: text, title: 'Failed.' })).toBe('Failed.')
  })

  test('may have a sign that HTML has, too', () => {
    expect(messageIn('zip < 5 digits, <year> > 1900')).toBe('zip < 5 digits, <year> > 1900')
  })

  test('is read from the depth of four lists or entries, and no deeper', () => {
    expect(messageIn([[[[['Closed.']]]]])).toBe('Closed.')
    expect(messageIn([[[[[['Closed.']]]]]])).toBeUndefined()
    const said = (levels: number): object => ({ message: levels === 0 ? 'Closed.' : said(levels - 1) })
    expect([messageIn(said(4)), messageIn(said(5))]).toEqual(['Closed.', undefined])
    expect(messageIn({ errors: { zip: [[['Closed.']]] } })).toBe('zip: Closed.')
    expect(messageIn({ errors: { zip: [[[['Closed.']]]] } })).toBeUndefined()
    expect(messageIn({ errors: [[[['Closed.']]]] })).toBe('Closed.')
    expect(messageIn({ errors: [[[[['Closed.']]]]] })).toBeUndefined()
  })

  test('is in the words of the caller, if that names the fields', () => {
    expect(messageIn({ message: 'pickup.zip is wrong' }, (text) => text.replace('pickup.zip', 'PickupZip'))).toBe(
      'PickupZip is wrong',
    )
  })
})

describe('messages that repeat each other', () => {
  test.each([
    [['The ZIP is wrong.', 'the zip is wrong'], 'The ZIP is wrong.'],
    [['zip', 'The zip is wrong'], 'The zip is wrong'],
    [['The zip is wrong', 'zip', 'wrong'], 'The zip is wrong'],
    [['zip', 'The zipper is wrong'], 'zip; The zipper is wrong'],
    [['Größe 5', 'größe: 5!'], 'Größe 5'],
    [['one', 'two', 'one'], 'one; two'],
  ])('%j are told once', (texts, said) => expect(messageIn(texts)).toBe(said))
})

describe('a message of any length', () => {
  test('is cut after 300 characters, never within one', () => {
    expect(messageIn('x'.repeat(300))).toBe('x'.repeat(300))
    expect(messageIn('x'.repeat(301))).toBe(`${'x'.repeat(299)}…`)
    expect(messageIn(`${'x'.repeat(298)}🚗🚗`)).toBe(`${'x'.repeat(298)}…`)
    expect(messageIn(`${'x'.repeat(297)}🚗🚗`)).toBe(`${'x'.repeat(297)}🚗…`)
  })

  test('is compared with 49 others, and by its first thousand characters', () => {
    // Few characters each, so that all of them are shown.
    const texts = (count: number) =>
      Array.from({ length: count }, (_, i) => String.fromCharCode(97 + (i % 26), 97 + i / 26))
    expect(messageIn(texts(50))).toMatch(/; xb$/)
    expect(messageIn(texts(51))).toMatch(/; xb$/)
    expect(messageIn(['zip', `${'y'.repeat(996)} zip`])).toMatch(/^y/)
    expect(messageIn(['zip', `${'y'.repeat(997)} zip`])).toMatch(/^zip; y/)
  })
})

test('the text of a reply has no byte order mark, and may be Windows-1252', () => {
  expect(replyText(Buffer.from('\ufeffé\ufeff'))).toBe('é\ufeff')
  expect(replyText(Buffer.from([0x80, 0x31]))).toBe('€1')
})
