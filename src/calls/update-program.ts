import type { Place } from '../language/mapping/paths.ts'

/*
 * An update as a program: read the shipment, merge the changes into it, and send it back whole without the fields that the service sets
 * itself. Printed programs in all languages are written from these parts, so that they do what the gateway does.
 */

/** One change of a shipment that was read. */
export interface Change {
  readonly place: Place
  readonly value: unknown
  /** The change is made only if the shipment has nothing at this place, or the same text as at that one. */
  readonly ifSameAs: Place | undefined
}

/** Fields that only the service sets. */
export const SERVER = ['id', 'number', 'status', 'price', 'distance', 'distance_meters', 'documents'] as const
export const SERVER_OF_VEHICLE = ['weight', 'height', 'width', 'length', 'photos'] as const

/** Returns the changes of an update's body. Those that depend on another place come first, before that place changes. */
export function changesOf(
  body: unknown,
  ifSame: Readonly<Record<string, string>> = {},
  vehicle = 0,
): readonly Change[] {
  const changes = leavesOf(body, []).map(([place, value]) => ({
    place: place.map((part) => (part === 0 ? vehicle : part)),
    value,
    ifSameAs: ifSame[place.join('.')]?.split('.'),
  }))
  return changes.toSorted((one, other) => Number(!one.ifSameAs) - Number(!other.ifSameAs))
}

function leavesOf(value: unknown, place: Place): readonly (readonly [Place, unknown])[] {
  if (typeof value !== 'object' || value === null) return [[place, value]]
  return Object.entries(value).flatMap(([name, part]) =>
    leavesOf(part, [...place, Array.isArray(value) ? Number(name) : name]),
  )
}

/**
 * Returns the changes as steps of a jq filter, which ends without output for what is no shipment. A vehicle that is not known beforehand is
 * chosen as by the live call: the only one, or the one with the VIN.
 */
export function jqSteps(changes: readonly Change[], isVehicleKnown = true): readonly string[] {
  const isChosen = !isVehicleKnown && changes.some(isOfVehicle)
  const vin = vinIn(changes)
  const index = vin === undefined ? 'null' : `map(.vin) | index(${JSON.stringify(vin)})`
  const part = (key: string | number) => (isChosen && typeof key === 'number' ? '$vehicle' : JSON.stringify(key))
  const at = (place: Place) => `.${place.map((key) => `[${part(key)}]`).join('')}`
  return [
    'select(.id)',
    ...(isChosen ? [`(.vehicles | if length == 1 then 0 else ${index} // error("${UNCHOSEN}") end) as $vehicle`] : []),
    ...changes.map(({ place, value, ifSameAs }) => {
      const set = `${at(place)} = ${JSON.stringify(value)}`
      if (!ifSameAs) return set
      return `if (${at(place)} // "") as $now | $now == "" or $now == ${at(ifSameAs)} then ${set} else . end`
    }),
    `del(${SERVER.map((name) => `.${name}`).join(', ')}, .vehicles[]?[${SERVER_OF_VEHICLE.map((name) => JSON.stringify(name)).join(', ')}])`,
  ]
}

/** Printed where the shipment has several vehicles, and none with the VIN. */
export const UNCHOSEN = 'VinNo selects none of the vehicles'

export const isOfVehicle = ({ place }: Change) => place[0] === 'vehicles'

/** Returns the VIN among the changes of a vehicle. */
export const vinIn = (changes: readonly Change[]) =>
  changes.find((change) => isOfVehicle(change) && change.place.at(-1) === 'vin')?.value as string | undefined

/** Quotes a word for a shell, if it has to be. */
export const shellWord = (text: string) => (/^[\w./~-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

/** The option of curl that takes the credential from the environment. */
export const curlCredential = (isBearer: boolean) =>
  isBearer ? '--header "Authorization: Bearer $SERVICE_TOKEN"' : '--user "$SERVICE_ID:$SERVICE_SECRET"'
