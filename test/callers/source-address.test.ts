/** Promise: the source of a call is its connection, or what trusted proxies say (contract, section 5). */

import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { createSourceReader, sourceAddress, sourceOf } from '../../src/callers/source-address.ts'
import { compileNetworks } from '../../src/networks.ts'

const trusted = compileNetworks(['10.0.0.0/8', '2001:db8:a::/48'])

/** A request over a connection from this address; nothing else of it is read. */
const request = (remoteAddress: string | undefined, forwarded?: string): IncomingMessage =>
  ({
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  }) as unknown as IncomingMessage

describe('the address of a caller', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '::ffff:c000:201'],
    ['2001:db8::1', '2001:db8::1'],
    [undefined, ''],
  ])('is that of its connection: %s', (remote, address) => {
    expect(sourceAddress(request(remote, '198.51.100.1'), undefined)).toBe(address)
    expect(sourceAddress(request(remote, '198.51.100.1'), trusted)).toBe(address)
  })

  test.each([
    [undefined, '10.0.0.1'],
    ['', '10.0.0.1'],
    ['192.0.2.1', '192.0.2.1'],
    [' 192.0.2.1 ', '192.0.2.1'],
    ['198.51.100.1, 192.0.2.1', '192.0.2.1'],
    ['198.51.100.1, 192.0.2.1, 10.1.1.1', '192.0.2.1'],
    ['10.2.2.2,10.1.1.1', '10.2.2.2'],
    ['192.0.2.1, unknown, 10.1.1.1', '10.1.1.1'],
    ['192.0.2.1:4711', '192.0.2.1'],
    ['[2001:db8::1]:4711', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['x192.0.2.1:4711', '10.0.0.1'],
  ])('is what trusted proxies report, nearest first: %s', (forwarded, address) => {
    expect(sourceAddress(request('10.0.0.1', forwarded), trusted)).toBe(address)
    expect(sourceAddress(request('::ffff:10.0.0.1', forwarded), trusted)).toBe(address)
  })
})

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:01:02::6', '2001:db8:1:2::/64'],
  ['2001:db8::6', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::ffff:c000:201', '192.0.2.1'],
  ['x:y', 'x:y'],
  ['', ''],
])('one caller has the addresses of %s: %s', (address, source) => {
  expect(sourceOf(address)).toBe(source)
})

describe('the source of a request', () => {
  test('is its connection, and is read once', () => {
    const { ofConnection, ofRequest } = createSourceReader(undefined)
    const incoming = request('2001:db8::1')
    const source = { address: '2001:db8::1', name: '2001:db8:0:0::/64', isBehindProxy: false, isEverybody: false }
    expect(ofRequest(incoming)).toEqual(source)
    expect(ofConnection(incoming.socket)).toBe(ofRequest(incoming))
    expect(ofConnection({ remoteAddress: undefined })).toMatchObject({ name: '' })
  })

  test('of a trusted proxy is the caller behind it, or everybody', () => {
    const { ofConnection, ofRequest } = createSourceReader(trusted)
    const incoming = request('10.0.0.1', '192.0.2.1')
    expect(ofConnection(incoming.socket)).toEqual({
      address: '10.0.0.1',
      name: '10.0.0.1',
      isBehindProxy: false,
      isEverybody: true,
    })
    expect(ofRequest(incoming)).toEqual({
      address: '192.0.2.1',
      name: '192.0.2.1',
      isBehindProxy: true,
      isEverybody: false,
    })
    expect(ofRequest(request('10.0.0.1', '10.2.2.2'))).toEqual({
      address: '10.2.2.2',
      name: '10.2.2.2',
      isBehindProxy: false,
      isEverybody: true,
    })
    expect(ofRequest(request('192.0.2.9', '192.0.2.1'))).toEqual({
      address: '192.0.2.9',
      name: '192.0.2.9',
      isBehindProxy: false,
      isEverybody: false,
    })
  })
})
