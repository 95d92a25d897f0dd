import { type GatewayError, gatewayError } from '../errors.ts'
import type { Sending } from '../service/service.ts'
import { thingKey } from '../text/service-text.ts'

/** Runs work while no other work of the same key runs. */
export type Exclusive = <T>(key: string, waitMs: number, work: (isHeld: () => boolean) => Promise<T>) => Promise<T>

/** Runs the approval of a quote, or a booking of an approved quote, while no other of the same quote runs. */
export function withQuoteLock<T>(
  tenant: string,
  quote: string,
  { deadline }: Pick<Sending, 'deadline'>,
  exclusive: Exclusive,
  work: (isHeld: () => boolean) => Promise<T>,
): Promise<T> {
  return exclusive(`quote ${tenant}\n${thingKey(quote)}`, deadline - performance.now(), work)
}

/** The error of a call that has to wait for the approval of its quote. */
export function approvalUnderWay(): GatewayError {
  return gatewayError('booking-under-way/approval', {}, { headers: { 'Retry-After': '5' } })
}
