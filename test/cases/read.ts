import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { caseSchema as format } from '../../src/labs/rehearse/case.ts'
import { parseJson } from '../../src/language/text/json.ts'
import type { Fault, SandboxOptions } from '../stand-in/stand-in.ts'

/** `true` if only the presence of the remark counts. */
const remark = z.union([z.string(), z.literal(true)]).optional()

const { about, settings, action, path, method, headers, request, request_hex, status } = format.shape
const members = z.record(z.string(), z.unknown())

/** The format of `mapping test`, and what needs a gateway. */
const caseSchema = format
  .extend({
    /** The purpose of the case. */
    about: z.string().min(1),
    /** Calls that the gateway remembers, with the service's replies. */
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
export const caseFiles = (): readonly CaseFile[] => filesIn('.').filter(({ action }) => action !== STORIES)

/** The stories; the name of each file is its promise. */
export const storyFiles = (): readonly CaseFile[] => filesIn(STORIES)

const STORIES = 'stories'

function filesIn(folder: string): readonly CaseFile[] {
  const root = import.meta.dirname
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.json'))
    .sort()
    .map((file) => {
      const name = join(folder, file)
        .replaceAll('\\', '/')
        .replace(/\.json$/, '')
      return { name, action: name.split('/')[0] ?? '', text: readFileSync(join(root, folder, file), 'utf8') }
    })
}

/** Reads a case; throws if it has an unknown key or checks nothing. */
export function readCase(text: string): Case {
  return caseSchema.parse(parseJson(text))
}

/**
 * One call of a story: a case with the changes at the service before it, and the state afterwards. It lists only the expected members that
 * matter; a text between slashes is a pattern. `{shipment 1}`, `{number 1}` and `{quote 1}` stand for the service's names of its first
 * shipment or quote.
 */
const storyCall = z.strictObject({
  ...{ action, path, method, headers, request, request_hex, status },
  /** The action's example with these fields replaced; null leaves one out. */
  with: members.optional(),
  /** The request is the previous answer with these fields replaced. */
  sends_back: z.literal(true).optional(),
  /** The time of the gateway and of the service. */
  at: z.iso.datetime().optional(),
  /** How the service differs from now on. */
  service_is: z.custom<SandboxOptions>().optional(),
  /** The next faults of the service. */
  faults: z.array(z.custom<Fault>()).optional(),
  /** The changes that others have made to shipments since, by their position; null is a deleted shipment, and `tokens` are all tokens. */
  meanwhile: z.record(z.string(), members.nullable()).optional(),
  replies: members.optional(),
  /** Places that the answer does not have. */
  lacks: z.array(z.string()).optional(),
  says: z.array(z.string()).optional(),
  /** Texts that are nowhere in the answer, including its headers. */
  says_not: z.array(z.string()).optional(),
  /** The request is a form of these fields, as a browser sends it. */
  form: z.record(z.string(), z.string()).optional(),
  /** The answer as text, and parts of it. */
  text: z.string().optional(),
  shows: z.array(z.string()).default([]),
  /** Headers of the answer; null for one that it lacks. */
  answer_headers: z.record(z.string(), z.string().nullable()).optional(),
  /** The last request with this method at the service, and the places that its body lacks; null for a header that it lacks. */
  sends: z
    .strictObject({
      method: z.string(),
      path: z.string().optional(),
      body: z.unknown().optional(),
      headers: members.optional(),
      lacks: z.array(z.string()).optional(),
    })
    .optional(),
  /** Every request at the service, such as `GET /v2/shipments/7`. */
  requests: z.array(z.string()).optional(),
  /** The `Authorization` of every request at the service. */
  credential: z.string().optional(),
  /** The shipments and quotes at the service. */
  shipments: z.array(members).optional(),
  quotes: z.array(members).optional(),
  /** The line of the call in the log; null for a member that it lacks. */
  log: members.optional(),
  /** Lines of the metrics afterwards. */
  metrics: z.array(z.string()).optional(),
  /** The call is made this often. */
  repeated: z.number().default(1),
  /** The call is made at the admin listener. */
  admin: z.literal(true).optional(),
  /** The tenant whose credential the caller sends. */
  as: z.string().optional(),
})

/** Calls in a row. */
const storySchema = z
  .strictObject({
    about,
    settings,
    /** With `client`, callers send the service's credential. @default the gateway has its own */
    mode: z.literal('client').optional(),
    /** The tenants that the gateway knows, each with more than a credential. */
    tenants: z.record(z.string(), members).optional(),
    /** Files in a folder for which `FOLDER` stands in the settings; an object is JSON. */
    files: z.record(z.string(), z.unknown()).default({}),
    /** How the service differs from the demo's. */
    service_is: z.custom<SandboxOptions>().optional(),
    /** Members of every call. */
    every: z.record(z.string(), z.unknown()).default({}),
    calls: z.array(z.record(z.string(), z.unknown())).min(1),
  })
  .transform(({ every, calls, ...story }) => ({
    ...story,
    calls: calls.flatMap((one) => {
      const call = storyCall.parse({ ...every, ...one })
      return Array.from({ length: call.repeated }, () => call)
    }),
  }))

export type StoryCall = z.infer<typeof storyCall>
/** Returns a text in which `⟨x#×20⟩` is 20 times x with another number. */
export const repeated = (text: string) =>
  text.replace(/⟨(.+?)×(\d+)⟩/gs, (_, unit, times) => `${unit}`.repeat(times).replace(/#/g, (_, at) => at))

/** Reads a story. */
export const readStory = (text: string) => storySchema.parse(JSON.parse(repeated(text)))
