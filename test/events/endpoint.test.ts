import { expect, test } from 'vitest'
import type { Tenant } from '../../src/config/tenants-file.ts'
import { endpointOf, shownUrl } from '../../src/events/callback.ts'
import { SETTINGS } from './office.ts'

const url = new URL('https://hook.example.com/')
const callback = { url, format: 'json', keys: [], networks: ['10.0.0.0/8'] } as const
// The other settings of a tenant have no part in its callback.
const tenant = (given: object) => ({ name: 'acme', ...given }) as unknown as Tenant

test('a tenant without a callback has no endpoint', () => {
  expect(endpointOf(tenant({ callback: undefined }), SETTINGS)).toBeUndefined()
})

test('an endpoint has the tenant’s callback, and the settings of all tenants but its own', () => {
  const endpoint = endpointOf(tenant({ callback }), SETTINGS)
  expect(endpoint).toMatchObject({ tenant: 'acme', url, format: 'json', keys: [], settings: SETTINGS })
  expect([endpoint?.allowed.has('10.1.2.3'), endpoint?.allowed.has('11.1.2.3')]).toEqual([true, false])
  expect(endpointOf(tenant({ callback, shipment_number: 'service' }), SETTINGS)?.settings).toEqual({
    ...SETTINGS,
    shipment_number: 'service',
  })
})

test('an address is shown without user name, password and query', () => {
  const shown = (text: string) => shownUrl(new URL(text))
  expect(shown('https://me:secret@hook.example.com:8443/a/b?key=secret#part')).toBe(
    'https://hook.example.com:8443/a/b?***',
  )
  expect(shown('https://hook.example.com')).toBe('https://hook.example.com/')
})
