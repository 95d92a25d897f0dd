import { lookUp } from '../../src/calls/find.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import { type Approval, createXref } from '../../src/xref/xref.ts'
import { link } from '../store/samples.ts'
import { requestOf } from './requests.ts'

const TENANT = 'acme'
/** What looks like an id of the service. */
export const ID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
export const OTHER_ID = '00000000-0000-4000-8000-00000000000a'

/** A name in the cross-reference. */
export interface Known {
  readonly name: string
  readonly id: string
  readonly kind?: 'quote' | 'shipment'
  readonly vin?: string
  readonly givenBy?: 'caller' | 'service'
}

/** A cross-reference that knows these names, the last one newest. */
export async function xrefWith(known: readonly Known[], approvals: Readonly<Record<string, Approval>> = {}) {
  const store = createMemoryStore({ now: () => 1_000 })
  const xref = createXref(store, 60_000)
  for (const [at, one] of known.entries()) {
    const shipment = { kind: 'shipment', vin: '', givenBy: 'caller', ...one } as const
    await store.put({ links: [link({ tenant: TENANT, at, ...shipment })] })
  }
  for (const [quote, approval] of Object.entries(approvals)) await xref.setApproval(TENANT, quote, approval)
  const remember = (id: string, own: string, facts: Readonly<Record<string, string>> | null) =>
    store.put({ links: [], thing: { tenant: TENANT, id, own, facts } })
  const find = async (action: string, fields: Readonly<Record<string, string>>) =>
    lookUp(requestOf(action, fields), TENANT, xref)
  return { find, remember }
}
