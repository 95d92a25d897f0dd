import { gatewayError, untranslatable } from '../errors.ts'
import type { CompiledAction } from '../mapping/compile.ts'
import type { Problem } from '../mapping/fields.ts'
import { type Changes, entryWith } from '../mapping/overlay.ts'
import type { Draft } from '../mapping/paths.ts'
import type { Settings } from '../mapping/settings.ts'
import type { UpstreamReply } from '../service/exchange.ts'
import { refusal, replyToChange } from '../service/failures.ts'
import { isSuccess, type Sending, type Service } from '../service/service.ts'
import { thingKey } from '../text/service-text.ts'
import type { Exclusive } from './quote-lock.ts'
import { shipmentRead } from './service-request.ts'
import { changeOf, requireWhole, type Shipment } from './verify.ts'

/** Is shown the verified body of every reply, with the name of its action. */
export type InspectReply = (action: string, body: unknown) => void

/** Fields to merge into a shipment. */
export interface Merging {
  readonly id: string
  /** The translated fields. */
  readonly sent: Draft
  /** True if the call sends more than the names of the shipment. */
  readonly asks: boolean
  /** Returns a field as it was sent. */
  readonly textOf: (field: string) => string | undefined
  /** The fields that cannot be translated; the shipment may show them just so. */
  readonly problems: readonly Problem[]
  /** The VIN that chooses the vehicle. */
  readonly vin: string | undefined
  /** The update of a shipment. */
  readonly compiled: CompiledAction
  readonly settings: Settings
  /** Verifies the read of the shipment; returns undefined if there is none to merge into. */
  readonly verify: (reply: UpstreamReply) => Shipment | undefined | Promise<Shipment | undefined>
  /** Converts an error of the read into the error of the call. */
  readonly readError?: (error: unknown) => unknown
}

/** A shipment with the fields merged into it. */
export interface Merged {
  /** The shipment as it was read. */
  readonly before: Shipment
  /** The body of the reply to the update; undefined if it is empty, or if nothing had to be sent. */
  readonly after: Readonly<Draft> | undefined
  readonly changes: Changes
}

/** Reads a shipment, merges fields into it, and sends the whole. Merges of one shipment run one at a time. */
export type Merge = (merging: Merging, tenant: string, sending: Sending) => Promise<Merged | undefined>

/** Makes the merge of fields into shipments; `inspect` is shown the body of every reply to an update. */
export function createMerge(service: Service, exclusive: Exclusive, inspect: InspectReply = () => undefined): Merge {
  /** Starts again from a fresh read if the shipment changed meanwhile. */
  async function mergeIntoCurrent(
    merging: Merging,
    isHeld: () => boolean,
    sending: Sending,
  ): Promise<Merged | undefined> {
    const mayWrite = () => isHeld() && sending.mayWrite?.() !== false
    for (let tries = 1; ; tries += 1) {
      // Read under the lock: another update may have changed the shipment since it was found.
      const current = await read(merging, sending)
      if (!current) return undefined
      const { shipment, entry, etag } = current
      const { compiled, sent, textOf, settings } = merging
      const changes = compiled.compare(shipment.body, sent, entry, textOf, settings)
      const problems = merging.problems.filter(({ field }) => !changes.standing.has(field))
      if (problems.length > 0) throw untranslatable(problems)
      if (merging.asks && isEmpty(changes.places)) return { before: shipment, after: undefined, changes }
      const body = compiled.overlay(shipment.body, changes.places, entry)
      const put = { ...shipmentRead(merging.id), method: 'PUT', body, ifMatch: etag } as const
      const reply = await replyToChange(service.send(put, { ...sending, mayWrite }))
      if (isSuccess(reply.status)) {
        const after = changeOf(reply, 'shipment', shipment.id)
        inspect(compiled.action.name, after ?? shipment.body)
        return { before: shipment, after, changes }
      }
      if (reply.status !== PRECONDITION_FAILED) throw refusal(reply, compiled.nameFields)
      if (tries === UPDATE_TRIES) throw gatewayError('shipment-changed', {})
    }
  }

  async function read({ id, sent, problems, vin, verify, readError }: Merging, sending: Sending) {
    try {
      const reply = await service.send(shipmentRead(id), sending)
      const shipment = await verify(reply)
      if (!shipment) return undefined
      const entry = entryWith(shipment.body['vehicles'], 'vin', vin)
      requireWhole(shipment, sent, entry)
      return { shipment, entry, etag: reply.headers['etag'] }
    } catch (error) {
      if (problems.length > 0) throw untranslatable(problems)
      throw readError ? readError(error) : error
    }
  }

  return (merging, tenant, sending) =>
    exclusive(`update ${tenant}\n${thingKey(merging.id)}`, sending.deadline - performance.now(), (isHeld) =>
      mergeIntoCurrent(merging, isHeld, sending),
    )
}

const isEmpty = (body: Draft) => Object.keys(body).length === 0

const PRECONDITION_FAILED = 412
const UPDATE_TRIES = 3
