import {
  assumedAgain,
  type DefaultSetting,
  type Fallback,
  type Joiner,
  join,
  lookup,
  move,
  phraseIn,
  quoteFact,
  type Row,
  ref,
  setting,
  split,
  v1Only,
  wholeValue,
} from '../src/language/mapping/declare.ts'
import { contactParts, equipmentType, joinStreet, quoteZip, splitStreet, state, text, zipcode } from './codecs.ts'

/** The names that a caller gives a quote. */
export const quoteNames = ['ShipmentNumber', 'OrderRefNumber'] as const

const notPriced = 'version 2 prices a trip by its two postal codes'
const namesIt = 'identifies the quote; version 2 has no field for it'

/** The kind of trailer. Callers send it in quotes, and some also in bookings and updates. */
export const transportTypeRow = (...fallbacks: readonly Fallback[]): Row =>
  move('EquipmentType', 'transport_type', equipmentType, { fallbacks })

/** The kind of vehicle, sent in the same calls. */
export const vehicleTypeRow = (place: string, ...fallbacks: readonly Fallback[]): Row =>
  lookup(
    [wholeValue('PickupCommodityCode'), wholeValue('DeliveryCommodityCode'), phraseIn('LoadReference')],
    place,
    'vehicle_types',
    fallbacks,
  )

/** The fields that price a trip. In an update, absent fields come from the remembered quote. */
export const tripRows = ({ update }: { readonly update: boolean }): readonly Row[] => {
  const priced = (name: DefaultSetting) => (update ? [quoteFact(name), assumedAgain(name)] : [setting(name)])
  return [
    move(
      'TempShipFromPostalCode',
      'pickup',
      quoteZip,
      update ? { fallbacks: [quoteFact('pickup')] } : { required: true },
    ),
    move(
      'TempShipToPostalCode',
      'delivery',
      quoteZip,
      update ? { fallbacks: [quoteFact('delivery')] } : { required: true },
    ),
    vehicleTypeRow('vehicle_type', ...priced('vehicle_type')),
    transportTypeRow(...priced('transport_type')),
  ]
}

/** The fields of a quote request for which version 2 has no place. */
export const quoteOnlyRows: readonly Row[] = [
  ...v1Only(['ActionName'], 'selects the action; version 2 has a path for each'),
  ...quoteNames.map((name) => ref(name, namesIt)),
  ...v1Only(
    ['TempShipFromCountry', 'TempShipFromStreet1', 'TempShipFromStreet2', 'TempShipFromCity', 'TempShipFromState'],
    notPriced,
  ),
  ...v1Only(['TempShipToCountry', 'TempShipToStreet1', 'TempShipToCity', 'TempShipToState'], notPriced),
  ...v1Only(['CSR'], 'version 2 does not record the agent'),
]

const streetLines: Joiner = {
  name: 'streetLines',
  summary: 'Joins two street lines with a comma.',
  join: joinStreet,
  split: splitStreet,
}

/** Facts for a later booking: the customer's address and contact, for which a version-1 booking has no fields. */
export const customerFacts: readonly Row[] = [
  move('BillToCompany', 'customer_name', text),
  split(
    'BillToContact',
    { contact_name: 'contact_name', contact_phone: 'contact_phone', contact_email: 'contact_email' },
    contactParts,
  ),
  join(['BillToStreet1', 'BillToStreet2'], 'address', streetLines),
  move('BillToCity', 'city', text),
  move('BillToState', 'state', state),
  move('BillToPostalCode', 'zipcode', zipcode),
  ...v1Only(['BillToCountry'], 'version 2 has no customer country'),
]

/** A quote request as legacy callers send it. */
export const quoteExample = {
  ActionName: 'Get Rate',
  ShipmentNumber: 'WTS20250216191244',
  OrderRefNumber: '1FDXE4FN9PDD32477',
  EquipmentType: 'OPEN AUTO',
  PickupCommodityCode: 'BOX TRUCK',
  DeliveryCommodityCode: 'BOX TRUCK',
  LoadReference: '2023 Ford E-450 RWD, Box Van',
  TempShipFromCountry: 'US',
  TempShipFromStreet1: 'TBD',
  TempShipFromStreet2: '',
  TempShipFromCity: 'Staten Island',
  TempShipFromState: 'NY',
  TempShipFromPostalCode: '10314',
  TempShipToCountry: 'US',
  TempShipToStreet1: 'TBD',
  TempShipToCity: 'Miami',
  TempShipToState: 'FL',
  TempShipToPostalCode: '33166',
  CSR: 'A. Agent',
  BillToCompany: '',
  BillToContact: 'Pat Example~2145550000~~~pat@example.com',
  BillToStreet1: '1 Test Dr',
  BillToStreet2: '',
  BillToCity: 'Dallas',
  BillToState: 'TX',
  BillToPostalCode: '75234',
  BillToCountry: 'US',
} as const
