/** Promise: what the commands about settings print is reviewed (contract, section 11). */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { configNames } from '../../src/config/config.ts'
import { folder, tenant, writeTenants } from '../callers/edge.ts'
import { transcript, transcriptFolder } from './transcript.ts'

const SERVICE = { V2_BASE_URL: 'https://service.example.com' }

test('the commands about tenants print what they did', async () => {
  const place = transcriptFolder()
  const secrets = folder()
  const more = {
    networks: ['192.0.2.0/24', '2001:db8::/64'],
    v2: { base_url: 'https://other.example.com/api' },
  }
  writeTenants(join(place, 'tenants.json'), tenant(secrets, 'acme'), tenant(secrets, 'zenith', more))
  writeTenants(join(place, 'one.json'), { ...tenant(secrets, 'acme'), credentials: [], networks: ['192.0.2.1'] })
  writeTenants(join(place, 'wrong.json'), { ...tenant(secrets, 'acme'), colour: 'red' })
  const lines = [
    'tenants check tenants.json',
    'tenants check one.json',
    'tenants check wrong.json',
    'tenants check none.json',
    'tenants check',
    'tenants list tenants.json',
    'tenants list tenants.json --json',
    'tenants list one.json',
    'tenants hash',
  ]
  await expect(await transcript(place, lines)).toMatchFileSnapshot('output/tenants.txt')
})

test('the commands about mappings print what they did', async () => {
  const place = transcriptFolder()
  const quote = { TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166' }
  const cases = {
    'a-passes': { action: 'quote.get', about: 'a quote', request: quote, unknown: [], problems: [] },
    'b-problem': { action: 'quote.get', request: {} },
    'c-body': {
      action: 'quote.get',
      request: quote,
      sends: { method: 'POST', path: '/v2/quote', body: { pickup: 1 } },
    },
    'd-unknown': { action: 'quote.get', request: { ...quote, Foo: 1, CSR: 'x' }, unknown: [], unused: [] },
    'e-reply': { action: 'quote.get', service: { shipment_id: 'x', price: 12.5 }, replies: { Cost: '12.50' } },
    'f-lacks': { action: 'quote.get', service: {}, replies: {} },
    'g-action': { action: 'quote.gte', request: {} },
    'h-nothing': { action: 'quote.get' },
    'i-key': { action: 'quote.get', request: {}, send: {} },
  }
  mkdirSync(join(place, 'own', 'cases'), { recursive: true })
  mkdirSync(join(place, 'none', 'cases'), { recursive: true })
  for (const [name, content] of Object.entries(cases))
    writeFileSync(join(place, 'own', 'cases', `${name}.json`), JSON.stringify(content, null, 2))
  writeFileSync(join(place, 'own', 'cases', 'j-broken.json'), '{')
  writeFileSync(join(place, 'own', 'cases', 'notes.txt'), 'no case')
  const lines = [
    'mapping test own',
    'mapping test own --json',
    'mapping test none',
    'mapping test nowhere',
    'mapping test',
  ]
  await expect(await transcript(place, lines)).toMatchFileSnapshot('output/mapping.txt')
})

test('translations are explained as they were', async () => {
  const place = transcriptFolder()
  writeFileSync(join(place, 'booking.json'), JSON.stringify({ ...bookingExample, PickupZip: '02134-1234', Foo: '1' }))
  writeFileSync(join(place, 'quote.txt'), 'TempShipFromPostalCode=10314&TempShipToCity=Miami&EquipmentType=BOAT')
  writeFileSync(join(place, 'broken.json'), '{"a":')
  const lines = [
    'translate shipment.create booking.json',
    'translate shipment.create booking.json --json',
    'translate quote.get quote.txt',
    'translate shipment.get booking.json',
    'translate shipment.update booking.json --as python',
    'translate quote.get broken.json',
    'translate quote.get none.json',
    'translate quote.gte booking.json',
    'translate nothing',
    'translate quote.get',
  ]
  await expect(await transcript(place, lines)).toMatchFileSnapshot('output/translate.txt')
})

test('the check of a configuration prints what it did', async () => {
  const place = transcriptFolder()
  const env = {
    ...SERVICE,
    BROWNOUTS: '2091-01-12T15:00Z/1h,2092-01-12T15:00Z/90m',
    SUNSET: '2093-01-01',
    V2_TIMEOUT: '5',
    WEBHOOK_SECRETS: 'hush',
    ADMIN_PORT: '1',
  }
  const lines = ['check', 'check --json', 'healthcheck']
  const text = await transcript(place, lines, env)
  expect(text).not.toContain('hush')
  await expect(text).toMatchFileSnapshot('output/check.txt')
  const wrong = { V2_BASE_URL: 'nonsense', PORT: 'x', BROWNOUTS: 'never', V2_TOKEN: 'none' }
  await expect(await transcript(place, ['check', 'serve', 'translate quote.get'], wrong)).toMatchFileSnapshot(
    'output/check-wrong.txt',
  )
})

test('init writes files that the gateway accepts, and overwrites nothing', async () => {
  for (const kind of [[], ['--sidecar']]) {
    const place = transcriptFolder()
    const text = await transcript(place, [['init', ...kind].join(' '), 'init'])
    expect(text).toContain('transload.env is written')
    expect(text).toContain('transload.env exists; init overwrites nothing')
    const written = readFileSync(join(place, 'transload.env'), 'utf8')
    const env = Object.fromEntries(
      [...written.matchAll(/^([A-Z]\w*)=(.*)$/gm)].map(([, name = '', value]) => [name, value]),
    )
    for (const name of configNames) expect(written).toMatch(new RegExp(`^#?${name}=`, 'm'))
    const { TENANTS_FILE: _, ...rest } = env
    expect(await transcript(place, ['check'], rest)).toContain('The configuration is valid')
  }
})
