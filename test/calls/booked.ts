import type { Caller } from '../../src/callers/caller.ts'
import { type BookDeps, book } from '../../src/calls/book.ts'
import { findTarget } from '../../src/calls/find.ts'
import { planCall } from '../../src/calls/plan.ts'
import type { Settings } from '../../src/mapping/row.ts'
import { type openDirect, TENANT } from './direct.ts'
import { requestOf, SETTINGS } from './requests.ts'
import { SENDING } from './scripted-service.ts'

/** A booking that can be translated. */
export const SENT = { ReferenceNumber: 'R', PickupZip: '10314', DeliveryZip: '33166', BillToName: 'Pat', VinNo: 'VIN1' }
/** The shipment that the service shows. */
export const SHIPMENT = {
  id: 'S',
  number: 'TL-1',
  status: 'new',
  pickup: { id: 'p' },
  vehicles: [{ id: 'v', vin: 'VIN1' }],
}
/** A caller that the service has to verify. */
export const caller = (credential = 'one') => ({ tenant: TENANT, credential }) as Caller

interface BookOptions {
  readonly fields?: Readonly<Record<string, string>>
  readonly caller?: Caller
  readonly settings?: Partial<Settings>
  readonly headers?: Readonly<Record<string, string>>
  readonly deps?: Partial<BookDeps>
}

/** Finds, plans and books, as a legacy call does. */
export async function booked(direct: ReturnType<typeof openDirect>, options: BookOptions = {}) {
  const request = requestOf('shipment.create', { ...SENT, ...options.fields })
  const found = await findTarget(request, TENANT, SENDING, direct.deps)
  const plan = planCall(request, found, { ...SETTINGS, ...options.settings })
  const deps = { ...direct.deps, ...options.deps }
  return book(plan, options.headers ?? {}, options.caller ?? caller(), SENDING, deps)
}
/** The id in the answer of a booking. */
export const ids = (answer: Awaited<ReturnType<typeof booked>>) => answer.headers['Transload-Shipment-Id']
/** The body of a request to the service, by default of the last one. */
export const sentBody = ({ asked }: ReturnType<typeof openDirect>, at = -1) => asked.at(at)?.[0].body
