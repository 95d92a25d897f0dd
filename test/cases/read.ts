import { readdirSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { caseSchema as format } from '../../src/labs/rehearse/case.ts'
import { parseJson } from '../../src/language/text/json.ts'

/** `true` where only the presence of the remark counts. */
const remark = z.union([z.string(), z.literal(true)]).optional()

const { request } = format.shape

/** The format of `mapping test`, and what needs a gateway. */
const caseSchema = format
  .extend({
    /** The purpose of the case. */
    about: z.string().min(1),
    /** Calls that the gateway remembers, and what the service answered. */
    earlier: z
      .array(
        z.strictObject({
          action: z.string(),
          request: request.unwrap(),
          service: z.record(z.string(), z.unknown()),
        }),
      )
      .optional(),
    /** The shipment at the service, into which an update is merged. */
    current: z.record(z.string(), z.unknown()).optional(),
    /** Every field that cannot be translated; nothing is sent then. */
    problems: z
      .array(z.strictObject({ field: z.string(), code: z.string().optional(), message: z.string().optional() }))
      .optional(),
    /** Every row with a loss, an assumption or a warning. */
    notes: z.array(z.strictObject({ to: z.string(), loss: remark, assumed: remark, warning: remark })).optional(),
    /** Places whose value comes from the remembered quote. */
    remembered: z.array(z.string()).optional(),
    /** The answer to the caller. */
    replies: z.record(z.string(), z.string()).optional(),
    /** Texts that the caller's `Message` must contain. */
    says: z.array(z.string()).optional(),
  })
  .refine((one) => CHECKS.some((key) => one[key] !== undefined), 'checks nothing')
  .refine((one) => one.request !== undefined || one.service !== undefined, 'has neither a request nor a reply')

const CHECKS = [
  'sends',
  'problems',
  'notes',
  'remembered',
  'unused',
  'unknown',
  'replies',
  'missing',
  'status',
  'says',
] as const

/** One case; each of its keys is checked. */
export type Case = z.infer<typeof caseSchema>

/** A case and its place. */
export interface CaseFile {
  /** `<action>/<behavior>`. */
  readonly name: string
  readonly action: string
  readonly text: string
}

/** Every case file. */
export function caseFiles(): readonly CaseFile[] {
  return readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.json'))
    .sort()
    .map((file) => {
      const name = file.replaceAll('\\', '/').replace(/\.json$/, '')
      return { name, action: name.split('/')[0] ?? '', text: readFileSync(`${import.meta.dirname}/${file}`, 'utf8') }
    })
}

/** Reads a case; throws if it has an unknown key or checks nothing. */
export function readCase(text: string): Case {
  return caseSchema.parse(parseJson(text))
}
