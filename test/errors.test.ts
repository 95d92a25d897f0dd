/** Promise: every error has its code, status and message (contract, section 9). */

import { describe, expect, test } from 'vitest'
import { adviceFor, errorTable } from '../src/language/errors.ts'
import { type MessageName, messages, messageText } from '../src/language/messages.ts'
import { oneLine } from '../src/language/text/service-text.ts'

const names = Object.entries(messages)

describe('the table of messages', () => {
  test('has a message for every code', () => {
    const codes = new Set(names.map(([name]) => name.split('/')[0]))
    expect(Object.keys(errorTable).filter((code) => !codes.has(code))).toEqual([])
    expect([...codes].filter((code) => !Object.hasOwn(errorTable, code ?? ''))).toEqual([])
  })

  test.each(names.filter(([name]) => name !== 'untranslatable'))('%s is one line of sentences', (_, text) => {
    expect(oneLine(text)).toBe(text)
    expect(text).toMatch(/^[A-Z{].*[.}]$/)
    expect(text.replace(/\.\{serviceSays\}$/, '.')).toMatch(/[.}]$/)
    // The service's own message follows a whole sentence.
    expect(text.replace(/\{serviceSays\}$/, '')).not.toContain('{serviceSays}')
  })

  test('says no two things in the same words', () => {
    expect(new Set(Object.values(messages)).size).toBe(names.length)
  })
})

test('a message is filled in with values unchanged', () => {
  const text = messageText('booking-under-way', { key: '{bytes} $& {key}' })
  expect(text).toBe(
    'This booking is already in progress ({bytes} $& {key}). Send it again in a few seconds to get the result.',
  )
})

test('no advice contradicts its message', () => {
  const isWrong = (name: MessageName) => {
    const [done] = adviceFor(name)
    const text = messages[name]
    return (
      (done === 'unknown' && /nothing was (sent|changed|booked|done|canceled)|not sent/i.test(text)) ||
      (done === 'no' && /may have|may not be|not known whether/i.test(text))
    )
  }
  expect(names.map(([name]) => name as MessageName).filter(isWrong)).toEqual([])
})
