import type { Assumption, Finding } from './assumption.ts'
import type { TestShipment, Trial } from './trial.ts'

/** The requests of checks, as the plan names them. */
export const ASK: readonly string[] = ['POST /v2/quote', 'GET /v2/quote']
export const BOOK = 'POST /v2/shipments'
export const READ = 'GET /v2/shipments/{shipment_id}'

/** The parts of an assumption that a maker of assumptions does not fill. */
export type About = Pick<Assumption, 'id' | 'sentence' | 'how' | 'otherwise'>

/** Makes an assumption about one booking that all of these share. */
export function aboutBooking(
  about: About,
  check: (shipment: TestShipment, trial: Trial) => Finding | Promise<Finding>,
): Assumption {
  return {
    ...about,
    effect: 'bookings',
    requests: [BOOK, READ],
    check: async (trial) => check(await trial.shipment(), trial),
  }
}

/** Makes an assumption about a booking of its own, which is changed by one more kind of request. */
export function aboutChange(
  request: string,
  about: About,
  check: (shipment: TestShipment, trial: Trial) => Promise<Finding>,
): Assumption {
  return {
    ...about,
    effect: 'bookings',
    requests: [BOOK, READ, request],
    check: async (trial) => check(await trial.newShipment(), trial),
  }
}
