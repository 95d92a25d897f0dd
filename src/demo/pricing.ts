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

// The first prefix of each run of ZIP3 prefixes, and its approximate position: [first ZIP3, latitude, longitude]. One row
// per state, more for large ones. A stand-in needs plausible miles, not exact ones.
const REGIONS: readonly (readonly [zip3: number, latitude: number, longitude: number])[] = [
  [5, 40.8, -73.0],
  [6, 18.2, -66.4],
  [10, 42.3, -71.8],
  [28, 41.7, -71.5],
  [30, 43.4, -71.5],
  [39, 44.6, -69.7],
  [50, 44.0, -72.7],
  [60, 41.6, -72.7],
  [70, 40.2, -74.5],
  [100, 40.7, -73.9],
  [120, 42.9, -75.6],
  [150, 40.6, -79.5],
  [169, 40.4, -76.2],
  [197, 39.2, -75.5],
  [200, 38.9, -77.0],
  [206, 39.2, -76.7],
  [220, 37.6, -78.4],
  [247, 38.6, -80.6],
  [270, 35.6, -79.2],
  [290, 33.9, -80.9],
  [300, 32.8, -83.6],
  [320, 29.2, -81.9],
  [330, 26.6, -80.7],
  [350, 32.9, -86.8],
  [370, 35.8, -86.4],
  [386, 32.7, -89.7],
  [398, 31.6, -84.2],
  [400, 37.6, -85.3],
  [430, 40.3, -82.8],
  [460, 39.9, -86.3],
  [480, 43.3, -84.6],
  [500, 42.0, -93.5],
  [530, 44.2, -89.6],
  [550, 45.6, -94.3],
  [570, 44.3, -100.0],
  [580, 47.4, -100.4],
  [590, 46.9, -109.6],
  [600, 40.6, -89.0],
  [630, 38.4, -92.5],
  [660, 38.5, -97.5],
  [680, 41.2, -98.4],
  [700, 30.7, -91.6],
  [716, 34.8, -92.4],
  [730, 35.5, -97.2],
  [750, 32.6, -97.0],
  [770, 29.7, -96.8],
  [790, 32.6, -101.8],
  [800, 39.2, -105.3],
  [820, 42.9, -107.5],
  [832, 43.9, -114.9],
  [840, 40.0, -111.6],
  [850, 33.5, -111.8],
  [870, 34.8, -106.3],
  [885, 31.8, -106.4],
  [889, 37.2, -115.7],
  [900, 34.1, -118.0],
  [936, 37.9, -121.6],
  [967, 21.3, -157.9],
  [970, 44.6, -122.6],
  [980, 47.4, -121.6],
  [995, 61.2, -149.8],
]

const EARTH_RADIUS_MILES = 3958.8
const ROAD_OVER_AIR = 1.18
const METERS_PER_MILE = 1609.344
/** The distance of a trip with an end without a ZIP code. */
const UNKNOWN_MILES = 500
const SHORTEST_MILES = 5

/** Returns the road distance between two ZIP codes in miles, to one decimal; the same for the same pair, always. */
function milesBetween(from: string | undefined, to: string | undefined): number {
  const start = placeOf(from)
  const end = placeOf(to)
  if (!start || !end) return UNKNOWN_MILES
  const miles = greatCircle(start, end) * ROAD_OVER_AIR
  return Math.round(Math.max(miles, SHORTEST_MILES) * 10) / 10
}

interface Place {
  latitude: number
  longitude: number
}

function placeOf(zip: string | undefined): Place | undefined {
  const digits = zip?.match(/^\d{5}/)?.[0]
  if (!digits) return undefined
  const region = REGIONS.findLast(([first]) => first <= Number(digits.slice(0, 3)))
  if (!region) return undefined
  // Spreads the ZIP codes of one region over about a degree: a trip within a state needs a length.
  return {
    latitude: region[1] + Number(digits.slice(2, 4)) / 100 - 0.5,
    longitude: region[2] + Number(digits.slice(3)) / 100 - 0.5,
  }
}

function greatCircle(a: Place, b: Place): number {
  const radians = (degrees: number) => (degrees * Math.PI) / 180
  const halfLatitude = Math.sin(radians(b.latitude - a.latitude) / 2)
  const halfLongitude = Math.sin(radians(b.longitude - a.longitude) / 2)
  const chord = halfLatitude ** 2 + Math.cos(radians(a.latitude)) * Math.cos(radians(b.latitude)) * halfLongitude ** 2
  return 2 * EARTH_RADIUS_MILES * Math.asin(Math.sqrt(chord))
}
