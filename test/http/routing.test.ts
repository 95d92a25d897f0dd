/** Promise: every path is routed in one way (contract, section 1). */

import { describe, expect, test } from 'vitest'
import { loadMappings } from '../../src/config/mappings.ts'
import { createRouter, webhookSecret } from '../../src/http/routing.ts'

const { endpoints } = await loadMappings()
const route = createRouter(endpoints, ['', '/quotes'])

describe('a legacy path', () => {
  test.each([
    '/getShipment.php',
    '/getshipment.PHP',
    '/getShipment.php/',
    '//getShipment.php',
    '/quotes/getShipment.php',
    '/QUOTES//getShipment.php/',
    '/get%53hipment.php',
    '/getShipment.php?x=/v2/',
    '/getShipment.php?',
  ])('is known as %s', (target) => {
    expect(route(target)).toBe('/legacy/getShipment.php')
    expect(route(`/dry-run${target}`)).toBe('/dry-run/getShipment.php')
  })

  test.each(['/quotesgetShipment.php', '/other/getShipment.php', '/getShipment.ph', '/getShipment.php/x', '/'])(
    'is none as %s',
    (target) => {
      expect(route(target)).toBe(`/own${target}`)
      expect(route(`/dry-run${target}`)).toBe(`/own/dry-run${target}`)
    },
  )
})

test.each([
  ['/v2/shipments', '/service'],
  ['/v2/', '/service'],
  ['/%76%32/x', '/service'],
  ['/v2/x?y=%zz', '/service'],
  ['/v2/../x', '/unreadable'],
  ['/v2%2Fx', '/unreadable'],
  ['/v2', '/own/v2'],
  ['/V2/x', '/own/V2/x'],
  ['/oauth2/token', '/token'],
  ['/oauth2/token?x', '/token'],
  ['/oauth2/%74oken', '/token'],
  ['/oauth2/token/', '/own/oauth2/token/'],
  ['/webhooks/secret', '/webhooks/***'],
  ['/webhooks/secret/?x', '/webhooks/***'],
  ['/webhooks/', '/own/webhooks/'],
  ['/webhooks/a/b', '/own/webhooks/a/b'],
  ['/x/webhooks/a', '/own/x/webhooks/a'],
  ['/health', '/own/health'],
  ['/dry-run', '/own/dry-run'],
  ['/a%20b', '/own/a b'],
  ['/%zz', '/unreadable'],
  ['/%ff', '/unreadable'],
  ['/a%0ab', '/unreadable'],
  ['/a\x7fb', '/unreadable'],
])('%j is routed to %s', (target, expected) => {
  expect(route(target)).toBe(expected)
})

test.each([
  ['/webhooks/secret', 'secret'],
  ['/webhooks/s%65cret/?x=/webhooks/other', 'secret'],
  ['/webhooks/', undefined],
  ['/webhooks/a/b', undefined],
  ['/webhooks/%zz', undefined],
  ['/x', undefined],
])('the secret in %s is %s', (target, secret) => {
  expect(webhookSecret(target)).toBe(secret)
})
