import type { CompiledCallback } from '../mapping/callback.ts'
import type { Schema } from './open-api-schemas.ts'

const TEXT = { type: 'string' } as const
const EVENT_BODY = { type: 'object', properties: { shipment_id: TEXT, event_date: TEXT, data: {} } } as const

/** Describes the dry run of an event. */
export function eventPath(callbacks: readonly CompiledCallback[], responses: Schema): Schema {
  const parameters = [{ name: 'event', in: 'path', required: true, schema: { type: 'string' } }]
  const examples = Object.fromEntries(
    callbacks.map(({ callback: { name, example } }) => {
      const { event: _, ...body } = example
      return [name, { value: body }]
    }),
  )
  const about = 'the form in which a caller hears of an event'
  return {
    get: {
      operationId: 'dry-run-webhook-example',
      summary: `Explain ${about}, by its example.`,
      parameters,
      responses,
    },
    post: {
      operationId: 'dry-run-webhook',
      summary: `Explain ${about}.`,
      parameters,
      requestBody: {
        required: true,
        content: { 'application/json': { schema: EVENT_BODY, examples } },
      },
      responses,
    },
  }
}
