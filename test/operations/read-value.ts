import type { z } from 'zod'

/** The error of a value, or the value. */
export function read(schema: z.ZodType, value: unknown): unknown {
  const { data, error } = schema.safeParse(value)
  return error ? error.issues.map(({ message }) => message).join('; ') : data
}
