import { randomUUID } from 'node:crypto'
import { Refusal } from './refusal.ts'
import type { Flat } from './version-1-fields.ts'

/** A version-1 answer. */
type FlatAnswer = Readonly<Record<string, string>>

/** One way in which the service's own version-1 handling may be wrong. */
interface WrongWay {
  readonly of: 'quote' | 'read'
  /** Changes what is asked. */
  readonly ask?: (flat: Flat) => Flat
  /** Changes what is answered. */
  readonly tell?: (answer: FlatAnswer) => FlatAnswer
}

/** Twenty wrong ways to answer version 1, each of which a comparison has to find. */
export const NATIVE_ERRORS = {
  'cent-more': ofQuote((answer) => ({ ...answer, Cost: (Number(answer['Cost']) + 0.01).toFixed(2) })),
  'whole-dollars': ofQuote((answer) => ({ ...answer, Cost: `${Math.floor(Number(answer['Cost']))}.00` })),
  'currency-in-cost': ofQuote((answer) => ({ ...answer, Cost: `USD ${answer['Cost']}` })),
  'no-cost': ofQuote((answer) => ({ ...answer, Cost: '' })),
  'no-number': ofQuote((answer) => ({ ...answer, ShipmentNumber: '' })),
  'other-number': ofQuote((answer) => ({ ...answer, ShipmentNumber: `${answer['ShipmentNumber']}-1` })),
  'extra-field': ofQuote((answer) => ({ ...answer, Currency: 'USD' })),
  'ignores-equipment': { of: 'quote', ask: without('EquipmentType') },
  'ignores-vehicle': {
    of: 'quote',
    ask: without('PickupCommodityCode', 'DeliveryCommodityCode', 'LoadReference'),
  },
  'ignores-destination': {
    of: 'quote',
    ask: (flat) => new Map([...flat, ['TempShipToPostalCode', flat.get('TempShipFromPostalCode') ?? '']]),
  },
  'refuses-quotes': {
    of: 'quote',
    ask: () => {
      throw new Refusal('validation_failed', 'This trip cannot be priced')
    },
  },
  'swaps-ends': ofRead((answer) => {
    const swapped = (name: string) =>
      name.startsWith('Pickup') ? name.replace('Pickup', 'Delivery') : name.replace('Delivery', 'Pickup')
    return Object.fromEntries(Object.entries(answer).map(([name, value]) => [swapped(name), value]))
  }),
  'other-zip': ofRead((answer) => ({ ...answer, PickupZip: String(Number(answer['PickupZip']) + 1).padStart(5, '0') })),
  'no-phone': ofRead((answer) => ({ ...answer, 'PickupPhNo.': '' })),
  'next-year': ofRead((answer) => ({ ...answer, Year: String(Number(answer['Year']) + 1) })),
  'cut-vin': ofRead((answer) => ({ ...answer, VinNo: answer['VinNo']?.slice(0, -1) ?? '' })),
  'upper-case-names': ofRead((answer) => ({ ...answer, DeliveryName: answer['DeliveryName']?.toUpperCase() ?? '' })),
  'other-status': ofRead((answer) => ({ ...answer, Status: 'hold' })),
  'not-booked': ofRead((answer) => ({ ...answer, TransportationBooked: 'No' })),
  'loses-instruction': ofRead((answer) => ({ ...answer, PickupTransportationInstruction: '' })),
} as const satisfies Readonly<Record<string, WrongWay>>

/** The name of a wrong way. */
export type NativeError = keyof typeof NATIVE_ERRORS

/** The names of all wrong ways. */
// The keys of a literal are its own names.
export const NATIVE_ERROR_NAMES = Object.keys(NATIVE_ERRORS) as readonly NativeError[]

/** Answers a version-1 call as the settings say: wrongly, with noise, or as it is. */
export function answerNatively(
  { nativeError, nativeNoise }: { readonly nativeError: NativeError | undefined; readonly nativeNoise: boolean },
  of: WrongWay['of'] | undefined,
  flat: Flat,
  act: (flat: Flat) => object,
): object {
  const way: WrongWay | undefined = nativeError && NATIVE_ERRORS[nativeError]
  const wrong = way?.of === of ? way : undefined
  // Every version-1 answer is flat text.
  const answer = act(wrong?.ask?.(flat) ?? flat) as FlatAnswer
  const told = wrong?.tell?.(answer) ?? answer
  return nativeNoise ? { ...told, RequestId: randomUUID(), AnsweredAt: String(process.hrtime.bigint()) } : told
}

function ofQuote(tell: (answer: FlatAnswer) => FlatAnswer): WrongWay {
  return { of: 'quote', tell }
}

function ofRead(tell: (answer: FlatAnswer) => FlatAnswer): WrongWay {
  return { of: 'read', tell }
}

function without(...names: readonly string[]): (flat: Flat) => Flat {
  return (flat) => new Map([...flat].filter(([name]) => !names.includes(name)))
}
