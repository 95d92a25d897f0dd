/** One field that the service did not accept. */
export interface FieldProblem {
  field: string
  message: string
}

// Every refusal: code, status.
const REFUSALS = {
  bad_json: 400,
  unauthorized: 401,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  precondition_failed: 412,
  validation_failed: 422,
} as const

/** The code of a refusal, which decides its status. */
export type RefusalCode = keyof typeof REFUSALS

/** A refusal of the stand-in: thrown anywhere, answered in one place. */
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
