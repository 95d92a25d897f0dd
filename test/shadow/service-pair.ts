import { onTestFinished } from 'vitest'
import { readBody, readQuery } from '../../src/body/read.ts'
import { createMerge } from '../../src/calls/merge.ts'
import { type Version1, version1 } from '../../src/calls/read-request.ts'
import { createSendPlan } from '../../src/calls/send.ts'
import { readConfig } from '../../src/config/config.ts'
import { loadMappings } from '../../src/config/mappings.ts'
import { translationSettings } from '../../src/config/translation-settings.ts'
import { type NativeError, type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts'
import { openAccount } from '../../src/service/account.ts'
import { openUpstream } from '../../src/service/open.ts'
import { createService, type Sending } from '../../src/service/service.ts'
import type { CompareDeps } from '../../src/shadow/compare-call.ts'
import { createMemoryStore } from '../../src/store/memory.ts'
import { createXref } from '../../src/xref/xref.ts'
import { basic, CLIENT } from '../gateway.ts'

/** A quote whose price depends on all that prices it, and has cents. */
export const QUOTE = {
  ActionName: 'Get Rate',
  ShipmentNumber: 'WTS1',
  EquipmentType: 'ENCLOSED AUTO',
  PickupCommodityCode: 'BOX TRUCK',
  LoadReference: '2023 Ford E-450, Box Van',
  TempShipFromPostalCode: '10314',
  TempShipToPostalCode: '33166',
} as const

/** A shipment that fills every field of a read. */
export const SHIPMENT = {
  external_id: 'REF-1',
  transport_type: 'open',
  customer: { customer_name: 'Example Motors', phone: '2145550000', email: 'office@example.com' },
  pickup: {
    address: '10 Sample St',
    city: 'Staten Island',
    state: 'NY',
    zipcode: 10314,
    contact_name: 'Pat Example',
    contact_phone: '7185550100',
    contact_email: 'pat@example.com',
    notes: 'Ring twice',
  },
  delivery: {
    address: '20 Test Ave',
    city: 'Miami',
    state: 'FL',
    zipcode: 33166,
    contact_name: 'Sam Sample',
    contact_phone: '3055550100',
    contact_email: 'sam@example.com',
    notes: 'At the gate',
  },
  vehicles: [{ vin: '1FDXE4FN9PDD32477', year: 2023, make: 'Ford', model: 'E-450', type: 'truck_ext' }],
} as const

/** Returns true if an error of the stand-in spoils the answers of reads. */
export const isOfRead = (error: NativeError) => NATIVE_READ_ERRORS.has(error)

const NATIVE_READ_ERRORS: ReadonlySet<NativeError> = new Set([
  'swaps-ends',
  'other-zip',
  'no-phone',
  'next-year',
  'cut-vin',
  'upper-case-names',
  'other-status',
  'not-booked',
  'loses-instruction',
])

/** The stand-in, asked both ways without a gateway. */
export interface ServicePair {
  readonly sandbox: Sandbox
  readonly deps: CompareDeps
  readonly sending: () => Sending
  readonly quote: (more?: Readonly<Record<string, string>>) => Version1
  /** A read of a shipment by the service's id. */
  readonly read: (id: string) => Version1
  /** Makes a shipment and returns its id. */
  readonly ship: () => Promise<string>
}

const catalog = await loadMappings()

/** Starts the stand-in for one test. */
export async function startPair(options: SandboxOptions = {}, env: NodeJS.ProcessEnv = {}): Promise<ServicePair> {
  const sandbox = await startSandbox({ credentials: { [CLIENT.id]: CLIENT.secret }, ...options })
  const config = readConfig({ V2_BASE_URL: sandbox.url, ...env })
  const upstream = openUpstream(config)
  const service = createService(config, upstream)
  const account = openAccount({
    upstream,
    ...config.V2_BASE_URL,
    basic: basic(),
    pool: 'test',
    scheme: 'basic',
    timeoutMs: config.UPSTREAM_TIMEOUT_MS,
  })
  onTestFinished(async () => {
    await upstream.close()
    await sandbox.close()
  })
  const compiled = (name: string) => {
    const found = catalog.actions.get(name)
    if (!found) throw new Error(`there is no action ${name}`)
    return found
  }
  return {
    sandbox,
    deps: {
      service,
      send: createSendPlan({
        service,
        merge: createMerge(service, () => Promise.reject(new Error('nothing is updated'))),
      }),
      nativePath: config.V2_NATIVE_PATH,
      xref: createXref(createMemoryStore(), config.QUOTE_MEMORY),
      settings: translationSettings(config),
    },
    sending: () => ({ account, requestId: 'test', deadline: performance.now() + config.UPSTREAM_TIMEOUT_MS }),
    quote: (more = {}) =>
      version1(compiled('quote.get'), readBody(Buffer.from(JSON.stringify({ ...QUOTE, ...more })), undefined)),
    read: (id) => version1(compiled('shipment.get'), readQuery(`ShipmentNumber=${id}`)),
    ship: async () => {
      const headers = { authorization: basic(), 'content-type': 'application/json' }
      const answer = await fetch(`${sandbox.url}/v2/shipments`, {
        method: 'POST',
        headers,
        body: JSON.stringify(SHIPMENT),
      })
      const made: unknown = await answer.json()
      return String(Object(made).id)
    },
  }
}
