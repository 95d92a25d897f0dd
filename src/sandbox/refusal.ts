/** One field that the service did not accept. */
export interface FieldProblem {
  field: string
  message: string
}

// Every way in which the stand-in says no: code, status.
const REFUSALS = {
  bad_json: 400,
  unauthorized: 401,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  precondition_failed: 412,
  validation_failed: 422,
} as const

/** The name of a refusal; its status follows from it. */
export type RefusalCode = keyof typeof REFUSALS

/** The stand-in's no, thrown where it is found and answered in one place. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: RefusalCode
  readonly status: number
  readonly fields: readonly FieldProblem[] | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: RefusalCode,
    message: string,
    more: { fields?: readonly FieldProblem[]; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message)
    this.code = code
    this.status = REFUSALS[code]
    this.fields = more.fields
    this.headers = more.headers ?? {}
  }
}

/** A 422 for one field. */
export function invalidField(field: string, message: string): Refusal {
  return new Refusal('validation_failed', `${field} ${message}`, { fields: [{ field, message }] })
}
