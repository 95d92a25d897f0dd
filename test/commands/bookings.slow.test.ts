/** Promise: an operator lists and settles bookings beside a running gateway (contract, section 7). */

import { rm } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { book, claimOf, creations, expectBooked, expectUnknown, REFERENCE, shipments } from '../bookings/desk.ts'
import { cleanEnv, newFolder, ROOT, run } from '../command.ts'
import { startGateway, type TestGateway } from '../gateway.ts'

const ON_CREATION = { method: 'POST', path: '/v2/shipments' }
const LONG_MS = 60_000

/** A gateway on a file, and the program that an operator runs beside it. */
async function openOffice() {
  const folder = newFolder('commands')
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const storeUrl = join(folder, 'store.db')
  const gateway = await startGateway({ store: await openStore(storeUrl) })
  return { gateway, bookings: (...words: string[]) => bookings(storeUrl, ...words) }
}

/** Runs `transload bookings …` in a separate process. */
function bookings(storeUrl: string, ...words: readonly string[]) {
  const env = cleanEnv({ STORE_URL: storeUrl })
  return run(process.execPath, [join(ROOT, 'src/main.ts'), 'bookings', ...words], { env })
}

/** A booking whose outcome is not known; the caller decides if the service has it. */
async function inDoubt(gateway: TestGateway, made: boolean, changes: object = {}): Promise<string> {
  gateway.sandbox.fail({ kind: made ? 'reset-after' : 'reset-before', on: ON_CREATION })
  return expectUnknown(await book(gateway, changes))
}

describe('on the store of a running gateway', () => {
  test('list and show print bookings without hashes and bodies', { timeout: LONG_MS }, async () => {
    const { gateway, bookings } = await openOffice()
    expectBooked(await book(gateway))
    const key = await inDoubt(gateway, true, { ReferenceNumber: 'IN-DOUBT' })
    const all = await bookings('list')
    expect(all).toMatchObject({ code: 0, err: '2 bookings\n' })
    expect(all.out.split('\n')).toHaveLength(4)
    expect(all.out).toMatch(new RegExp(`booked .*${REFERENCE}`))
    const unknown = await bookings('list', '--state', 'unknown', '--json')
    expect(unknown.code).toBe(0)
    const [listed] = unknown.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(listed).toMatchObject({ key, state: 'unknown', tenant: 'demo', reference: 'IN-DOUBT' })
    expect(Object.keys(listed)).not.toContain('credential')
    expect((await bookings('list', '--tenant', 'nobody')).err).toBe('0 bookings\n')

    const shown = await bookings('show', key)
    expect(shown.code).toBe(0)
    expect(shown.out).toContain('"state": "unknown"')
    expect(shown.out).toMatch(/^\d{4}-\d\d-\d\dT\S+Z {2}none → sending {2}claimed {2}\(.+\)$/m)
    expect(shown.out).toMatch(/sending → unknown {2}lost/)
    const { body } = await claimOf(gateway, 'IN-DOUBT')
    expect(all.out + unknown.out + shown.out).not.toContain(body)
  })

  test('the key of a booking that was over before the same was booked again never means the later one', {
    timeout: LONG_MS,
  }, async () => {
    const { gateway, bookings } = await openOffice()
    const earlier = await inDoubt(gateway, false)
    expect((await bookings('settle', earlier, '--not-booked')).code).toBe(0)
    const later = await inDoubt(gateway, true)
    expect(later).not.toBe(earlier)

    const shown = await bookings('show', earlier)
    expect(shown).toMatchObject({ code: 0, err: '' })
    expect(shown.out).toContain('"superseded": true')
    expect(shown.out).toContain('"state": "freed"')
    expect(shown.out).toMatch(/unknown → freed {2}settled: not booked/)
    expect(shown.out).not.toContain(later)
    const json = JSON.parse((await bookings('show', earlier, '--json')).out)
    expect(json).toMatchObject({ key: earlier, state: 'freed', superseded: true })
    expect(json.audit.map(({ to }: { to: string }) => to)).toEqual(['sending', 'unknown', 'freed'])

    const over = `${earlier} is over (settled: not booked), and the same was booked again later`
    for (const words of [
      ['settle', earlier, '--not-booked'],
      ['settle', earlier, '--shipment-id', 'id-1', '--unchecked'],
      ['reopen', earlier],
    ]) {
      expect(await bookings(...words)).toMatchObject({ code: 1, out: '', err: expect.stringContaining(over) })
    }
    expect(await claimOf(gateway, REFERENCE)).toMatchObject({ handle: later, state: 'unknown' })
    expect((await bookings('show', later)).out).toContain('"state": "unknown"')
    expect((await bookings('show', 'bk_000000000000')).err).toContain('there is no booking bk_000000000000')
  })

  test('a booking that is settled as booked is replayed to the caller’s next retry', { timeout: LONG_MS }, async () => {
    const { gateway, bookings } = await openOffice()
    const key = await inDoubt(gateway, true)
    const [made] = shipments(gateway)
    const { id = '', number = '' } = made ?? {}
    const settled = await bookings('settle', key, '--shipment-id', id, '--number', number, '--unchecked')
    expect(settled).toMatchObject({ code: 0, out: `${key} is booked as shipment ${id}.\n` })
    const retry = await book(gateway)
    expect(expectBooked(retry, true)).toBe(id)
    expect(retry.json.Message).toBe(`Transportation booked: shipment number ${number}.`)
    expect(creations(gateway)).toBe(1)

    const { out } = await bookings('show', key)
    expect(out).toMatch(/^\S+Z {2}unknown → booked {2}settled: booked {2}/m)
    expect(out).toContain(`(operator ${userInfo().username} on `)
    const [entry] = (await gateway.store.audit(key)).slice(-1)
    expect(Math.abs((entry?.at ?? 0) - Date.now())).toBeLessThan(LONG_MS)
  })

  test('a booking that is settled as not booked is sent again', { timeout: LONG_MS }, async () => {
    const { gateway, bookings } = await openOffice()
    const key = await inDoubt(gateway, false)
    expect((await bookings('settle', key, '--not-booked')).out).toBe(`${key} is settled as not booked.\n`)
    expectBooked(await book(gateway, { DeliveryName: 'Somebody Else' }))
    expect(creations(gateway)).toBe(2)
    expect(shipments(gateway)).toHaveLength(1)
  })

  test('only an unknown booking can be settled, and only once', { timeout: LONG_MS }, async () => {
    const { gateway, bookings } = await openOffice()
    expectBooked(await book(gateway))
    const { handle } = await claimOf(gateway)
    const booked = await bookings('settle', handle, '--not-booked')
    expect(booked.code).toBe(1)
    expect(booked.err).toBe(`transload: ${handle} is booked; only unknown bookings can be settled\n`)

    const key = await inDoubt(gateway, true, { ReferenceNumber: 'IN-DOUBT' })
    const both = await Promise.all([
      bookings('settle', key, '--not-booked'),
      bookings('settle', key, '--shipment-id', 'S-1', '--unchecked'),
    ])
    expect(both.map(({ code }) => code).sort()).toEqual([0, 1])
    const missing = await bookings('show', 'bk_000000000000')
    expect(missing).toMatchObject({ code: 1, err: 'transload: there is no booking bk_000000000000\n' })
  })
})
