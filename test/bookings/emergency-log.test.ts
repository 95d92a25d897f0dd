import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { openEmergencyLog, unwritableReason } from '../../src/bookings/record.ts'
import { newFolder } from '../command.ts'

let folder: string
beforeEach(() => {
  folder = newFolder('emergency')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
})

test('a file can be written in a folder that can be made, and nothing is made for the look', () => {
  expect(unwritableReason(join(folder, 'new', 'deep', 'emergency.log'))).toBeUndefined()
  expect(unwritableReason(join(folder, 'emergency.log'))).toBeUndefined()
  writeFileSync(join(folder, 'emergency.log'), '')
  expect(unwritableReason(join(folder, 'emergency.log'))).toBeUndefined()
})

test('a file in the way of a folder is named', () => {
  writeFileSync(join(folder, 'file'), '')
  expect(unwritableReason(join(folder, 'file', 'deep', 'emergency.log'))).toBe(
    `${join(folder, 'file')} is not a folder`,
  )
})

test('a log that cannot be written or read stops nothing', () => {
  writeFileSync(join(folder, 'file'), '')
  const log = openEmergencyLog(join(folder, 'file', 'emergency.log'))
  const record = { kind: 'shipment', id: 's', names: [], vin: '', own: undefined, facts: undefined } as const
  log.write({ booking: 'bk_1', tenant: 'acme', answer: { status: 200, headers: {}, body: '' }, record })
  expect(log.read()).toEqual([])
  log.clear()
})
