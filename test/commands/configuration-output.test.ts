/** Promise: what the commands about settings print is reviewed (contract, section 11). */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { configNames } from '../../src/language/config/config.ts'
import { folder, tenant, writeTenants } from '../callers/tenants-gateway.ts'
import { ROOT } from '../command.ts'
import { transcript } from './transcript.ts'

test('the commands about tenants print what they did', async () => {
  const place = folder()
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
  const place = folder()
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
    'h-settings': { action: 'quote.get', settings: { PORT: 'x' }, request: { ActionName: 'Get Rate' } },
    'i-key': { action: 'quote.get', request: {}, send: {} },
  }
  mkdirSync(join(place, 'own', 'cases'), { recursive: true })
  mkdirSync(join(place, 'none', 'cases'), { recursive: true })
  mkdirSync(join(place, 'empty'))
  for (const [name, content] of Object.entries(cases))
    writeFileSync(join(place, 'own', 'cases', `${name}.json`), JSON.stringify(content, null, 2))
  writeFileSync(join(place, 'own', 'cases', 'j-broken.json'), '{')
  writeFileSync(join(place, 'own', 'cases', 'notes.txt'), 'no case')
  const lines = [
    'mapping test own',
    'mapping test own --json',
    'mapping test none',
    'mapping test empty',
    'mapping test nowhere',
    'mapping test',
  ]
  await expect(await transcript(place, lines)).toMatchFileSnapshot('output/mapping.txt')
})

test('init writes files that the gateway accepts, and overwrites nothing', async () => {
  for (const kind of [[], ['--sidecar']]) {
    const place = folder()
    const text = await transcript(place, [['init', ...kind].join(' '), 'init'])
    expect(text).toContain('transload.env is written')
    expect(text).toContain('transload.env exists; init overwrites nothing')
    const written = readFileSync(join(place, 'transload.env'), 'utf8')
    const env = Object.fromEntries(
      [...written.matchAll(/^([A-Z]\w*)=(.*)$/gm)].map(([, name = '', value]) => [name, value]),
    )
    // The groups and their order are those of the documentation.
    const documented = readFileSync(join(ROOT, 'docs/configuration.md'), 'utf8').split(
      '<!-- end of configuration -->',
    )[0]
    const order = [...(documented ?? '').matchAll(/^### (Start here)$|^\| (?:\*\*(.+)\*\*|`(\w+)`) \|/gm)]
    expect(
      [...written.matchAll(/^# =+\n# (.+)\n# =+$|^#?([A-Z]\w*)=/gm)].map(([, title, name]) => title ?? name),
    ).toEqual(order.map(([, start, title, name]) => start ?? title ?? name))
    for (const name of configNames) expect(written).toMatch(new RegExp(`^#?${name}=`, 'm'))
    const { TENANTS_FILE: _, ...rest } = env
    expect(await transcript(place, ['check'], rest)).toContain('The configuration is valid')
  }
})
