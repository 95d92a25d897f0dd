/** Promise: every error has its code, status and message (contract, section 9). */

import { describe, expect, test } from 'vitest'
import { errorTable, GatewayError, gatewayError, oneLine } from '../src/errors.ts'
import { messages, messageText, serviceSays } from '../src/messages.ts'

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

describe('an error of the table', () => {
  test('has the code, the status and the filled-in text', () => {
    const error = gatewayError('number-unknown', { kind: 'shipment', names: 'ReferenceNumber REF-1' })
    expect(error).toBeInstanceOf(GatewayError)
    expect(error).toMatchObject({
      code: 'number-unknown',
      status: 404,
      message: 'No shipment is known by ReferenceNumber REF-1. Check the number.',
    })
  })

  test('of a variant has the code before the slash, and the details that are given', () => {
    const cause = new Error('silent')
    const error = gatewayError('login-failed/silent', {}, { status: 504, cause, headers: { 'Retry-After': '5' } })
    expect(error).toMatchObject({ code: 'login-failed', status: 504, cause, headers: { 'Retry-After': '5' } })
  })

  test('fills in values unchanged', () => {
    const text = messageText('booking-under-way', { key: '{bytes} $& {key}' })
    expect(text).toBe('The same booking is under way ({bytes} $& {key}). Try again in a few seconds.')
  })

  test.each([
    [undefined, 'The service refused the call.'],
    ['No.', 'The service refused the call. The service says: No.'],
  ])('of the service that says %j', (words, text) => {
    expect(gatewayError('service-refused', { serviceSays: serviceSays(words) }).message).toBe(text)
  })
})
