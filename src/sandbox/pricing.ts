import { METERS_PER_MILE, milesBetween } from './zip-distance.ts'

/** The facts that price a trip. */
export interface Trip {
  from: string | undefined
  to: string | undefined
  vehicleTypes: readonly string[]
  transportType: string
}

/** The price of a trip in dollars, and its distance in miles and meters. */
export interface Estimate {
  price: number
  distance: number
  distance_meters: number
}

const DOLLARS_PER_MILE: ReadonlyMap<string, number> = new Map([
  ['car', 0.62],
  ['suv', 0.71],
  ['van', 0.78],
  ['truck', 0.84],
  ['truck_ext', 1.05],
  ['work_van', 1.12],
  ['service_body', 1.3],
])
const OTHER_DOLLARS_PER_MILE = 0.62
const LOADING_FEE_DOLLARS = 165
const ENCLOSED_FACTOR = 1.4

/** Prices a trip: a loading fee and a rate per mile for each vehicle, times a factor for an enclosed trailer. */
export function estimate(trip: Trip): Estimate {
  const distance = milesBetween(trip.from, trip.to)
  const open = trip.vehicleTypes.reduce((sum, type) => sum + LOADING_FEE_DOLLARS + distance * rateOf(type), 0)
  const price = trip.transportType === 'enclosed' ? open * ENCLOSED_FACTOR : open
  return {
    price: Math.round(price * 100) / 100,
    distance,
    distance_meters: Math.round(distance * METERS_PER_MILE),
  }
}

function rateOf(type: string): number {
  return DOLLARS_PER_MILE.get(type) ?? OTHER_DOLLARS_PER_MILE
}
