interface Trip {
  from: string | undefined
  to: string | undefined
  vehicleTypes: readonly string[]
  transportType: string
}

interface Estimate {
  price: number
  distance: number
  distance_meters: number
}

const LOADING_FEE_DOLLARS = 165
const CAR_DOLLARS_PER_MILE = 0.62
const OTHER_DOLLARS_PER_MILE = 0.84
const ENCLOSED_FACTOR = 1.4
const METERS_PER_MILE = 1609.344

/** Prices a trip: a loading fee and a rate per mile for each vehicle, times a factor for an enclosed trailer. */
export function estimate({ from, to, vehicleTypes, transportType }: Trip): Estimate {
  const distance = milesBetween(from, to)
  const rates = vehicleTypes.map((type) => (type === 'car' ? CAR_DOLLARS_PER_MILE : OTHER_DOLLARS_PER_MILE))
  const open = rates.reduce((sum, rate) => sum + LOADING_FEE_DOLLARS + distance * rate, 0)
  const price = transportType === 'enclosed' ? open * ENCLOSED_FACTOR : open
  return {
    price: Math.round(price * 100) / 100,
    distance,
    distance_meters: Math.round(distance * METERS_PER_MILE),
  }
}

/** The distance of a trip with an end without a ZIP code. */
const UNKNOWN_MILES = 500
const SHORTEST_MILES = 5
/** ZIP codes grow from east to west. A stand-in needs the same miles for the same trip, not the true ones. */
const CODES_PER_MILE = 18

function milesBetween(from = '', to = ''): number {
  const codeOf = (zip: string) => Number(/^\d{5}/.exec(zip)?.[0] ?? Number.NaN)
  const miles = Math.abs(codeOf(from) - codeOf(to)) / CODES_PER_MILE
  return Number.isNaN(miles) ? UNKNOWN_MILES : Math.round(Math.max(miles, SHORTEST_MILES) * 10) / 10
}
