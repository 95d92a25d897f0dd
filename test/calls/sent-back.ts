import fc from 'fast-check'
import { expect } from 'vitest'
import { listLeaves } from '../../src/language/mapping/paths.ts'
import { vehiclesIn, vinKey } from '../../src/state/names/resolve.ts'
import { get, OWN, post, startGateway } from '../gateway.ts'
import { anyCharacter } from '../laws.ts'

/*
 * The law of an update: sending back the fields of a read changes nothing, and one changed field changes only the places that it stands
 * for. Shipments have values of every kind, including some that no version-1 caller could have sent.
 */

export const ID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'

const digits = (shape: RegExp) => fc.stringMatching(shape)

/** Values that a service may have at any place of a shipment. */
const value: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }) },
  { weight: 2, arbitrary: fc.string({ unit: anyCharacter, maxLength: 12 }) },
  { weight: 4, arbitrary: fc.constantFrom('Lot', 'Pam', ' Lot ', 'Lot\tPam', 'TBD', 'N/A', '-', '', ' ', '0', '…') },
  { weight: 2, arbitrary: fc.constantFrom('TX', 'tx', 'Texas', 'new york', 'ON', 'Ontario') },
  { weight: 3, arbitrary: digits(/^(\+1 ?)?\(?\d{3}\)?[ .-]?\d{3}[ .-]?\d{4}( ?(x|ext\.?) ?\d{1,4})?$/) },
  { weight: 3, arbitrary: digits(/^\d{5}(-\d{4})?$|^\d{3,4}$/) },
  { weight: 2, arbitrary: digits(/^(19|20)\d\d(\.0)?$/) },
  { weight: 2, arbitrary: digits(/^[A-HJ-NPR-Za-hj-npr-z0-9 ]{11,18}$/) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 99_999 }) },
  { weight: 1, arbitrary: fc.constantFrom(2023, 1800, 3000, 2134, 10314.5, true, false, null) },
  { weight: 1, arbitrary: fc.constantFrom('x'.repeat(4097), 'ä'.repeat(4000), '字'.repeat(1500), '🚚'.repeat(3000)) },
  { weight: 1, arbitrary: fc.constantFrom([], {}, { a: 1 }) },
)

const some = (names: readonly string[]) =>
  fc.record(Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [] })

const place = [
  'location_name',
  'contact_name',
  'address',
  'city',
  'state',
  'zipcode',
  'contact_phone',
  'contact_email',
  'notes',
]
const vehicle = some(['vin', 'year', 'make', 'model', 'trim', 'notes', 'is_inoperable'])

/** Shipments that the service may show. */
export const shipments = fc.record({
  id: fc.constant(ID),
  number: fc.constantFrom('TL-1', 'number one', '77'),
  status: fc.constantFrom('new', 'delivered', 'canceled'),
  price: fc.constantFrom(1234.5, '900', null),
  customer: some(['customer_name', 'phone', 'email', 'address', 'zipcode', 'contact_name']),
  pickup: some(place),
  delivery: some(place),
  vehicles: fc
    .array(vehicle, { maxLength: 3 })
    .map((list) => list.map((one, at) => ({ ...one, id: `v${at}`, weight: 8200 }))),
  transport_type: fc.constantFrom('open', 'enclosed'),
  instructions: value,
  // It names the shipment, and never changes: a value that cannot be a name would name another shipment when it is sent back.
  external_id: fc.oneof(fc.constantFrom(null, '', 'TBD', ' Lot ', 'Lot 7', 77), digits(/^[A-Za-z0-9._-]{1,20}$/)),
})

type ShownFields = Readonly<Record<string, string>>

/** Opens a gateway before a service that shows a given shipment. */
export async function openShowing() {
  const gateway = await startGateway({ env: { ...OWN, V2_SHIPMENT_PATH: '/v2/shipments' } })
  const { sandbox } = gateway
  const show = (shipment: unknown) => {
    sandbox.clearFaults()
    sandbox.requests.length = 0
    sandbox.fail({
      kind: 'status',
      status: 200,
      body: JSON.stringify(shipment),
      on: { method: 'GET' },
      times: 'always',
    })
    sandbox.fail({ kind: 'status', status: 204, times: 'always' })
  }
  return {
    /** Returns the fields that a version-1 caller reads of a shipment. */
    readOf: async (shipment: unknown): Promise<ShownFields> => {
      show(shipment)
      return (await get(gateway, `/getShipment.php?id=${ID}`)).json
    },
    /**
     * Sends fields in an update, and returns the body of the PUT; undefined if nothing was written, `several` if the VIN selects no
     * vehicle.
     */
    written: async (
      shipment: unknown,
      fields: ShownFields,
    ): Promise<Record<string, unknown> | 'several' | undefined> => {
      show(shipment)
      const { status, json } = await post(gateway, '/updateShipment.php', fields)
      const put = sandbox.requests.find(({ method }) => method === 'PUT')
      // With only blanks, the update asks for nothing.
      const isEmpty = status === 422 && /^(Nothing was changed: |ReferenceNumber must not)/.test(json.Message)
      if (!isEmpty && (status === 409 || status === 422)) return put ? expect.fail('written all the same') : 'several'
      if (!isEmpty) expect(status, json.Message).toBe(200)
      return put && JSON.parse(put.body)
    },
  }
}

/** Texts that a caller may send instead of what it read; each is valid for its field. */
const NEW_VALUES: Readonly<Record<string, readonly [text: string, places: Readonly<Record<string, unknown>>]>> = {
  BillToName: ['Somebody New', { 'customer.customer_name': 'Somebody New' }],
  'BillToPhNo.': ['(979) 555-1234', { 'customer.phone': '9795551234' }],
  PickupZip: ['00907-4321', { 'pickup.zipcode': 907 }],
  PickupState: ['guam', { 'pickup.state': 'GU' }],
  PickupName: ['Somebody New', { 'pickup.contact_name': 'Somebody New' }],
  DeliveryName: ['Somebody New', { 'delivery.contact_name': 'Somebody New' }],
  DeliveryCity: ['Newtown', { 'delivery.city': 'Newtown' }],
  // A year that no generated shipment has.
  Year: ['1899', { 'vehicles[0].year': 1899 }],
  Make: ['Newmake', { 'vehicles[0].make': 'Newmake' }],
}
export const changes = fc.constantFrom(...Object.keys(NEW_VALUES))

/** Checks both parts of the law for a shipment. */
export async function expectTrueUpdates(
  { readOf, written }: Awaited<ReturnType<typeof openShowing>>,
  shipment: Record<string, unknown>,
  field: string,
): Promise<void> {
  const shown = await readOf(shipment)
  const sentBack = { ...shown, id: ID }
  const [text, places] = NEW_VALUES[field] ?? ['', {}]
  const unchanged = await written(shipment, sentBack)
  const put = unchanged === undefined ? await written(shipment, { ...sentBack, [field]: text }) : unchanged
  if (put === 'several') {
    // A vehicle without a VIN cannot be distinguished from the others.
    expect(shipment['vehicles']).not.toHaveLength(1)
    expect(vehiclesIn(shipment).map(({ vin }) => vin)).not.toContain(vinKey(shown['VinNo']) || 'no VIN')
    return
  }
  expect(unchanged).toBeUndefined()

  const before = new Map(listLeaves(withoutServerFields(shipment)).listed)
  const after = new Map(listLeaves(put).listed)
  for (const [path, wanted] of Object.entries(places)) expect(after.get(path)).toEqual(wanted)
  // The name of the place follows the person's name if it was the same or absent.
  const name = /^(pickup|delivery)\.contact_name$/.exec(Object.keys(places)[0] ?? '')?.[1]
  if (name !== undefined) {
    const { location_name: location, contact_name: contact } = shipment[name] as Record<string, unknown>
    // The name as a read shows it; an object is not a name.
    const shownName = async (one: unknown) =>
      (await readOf({ id: ID, status: 'new', pickup: { contact_name: one } }))['PickupName']?.trim()
    const own = await shownName(location)
    const isOwn = own !== '' && own !== (await shownName(contact))
    expect(after.get(`${name}.location_name`)).toEqual(isOwn ? location : text)
  }
  const touched = new Set([...Object.keys(places), ...(name === undefined ? [] : [`${name}.location_name`])])
  const rest = (all: ReadonlyMap<string, unknown>) =>
    Object.fromEntries(
      [...all].filter(
        ([path]) =>
          ![...touched].some((one) => one === path || one.startsWith(`${path}.`) || path.startsWith(`${one}.`)),
      ),
    )
  const made =
    /^vehicles/.test(Object.keys(places)[0] ?? '') && before.get('vehicles') !== undefined ? ['vehicles'] : []
  const expected = rest(before)
  for (const path of made) delete expected[path]
  expect(rest(after)).toEqual(expected)
}

function withoutServerFields({ id: _i, number: _n, status: _s, price: _p, ...rest }: Record<string, unknown>) {
  const copy = JSON.parse(JSON.stringify(rest))
  for (const one of copy.vehicles) delete one.weight
  return copy
}
