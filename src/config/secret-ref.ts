import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { codeOf } from './json-file.ts'

/** Where a secret is; the tenants file holds none itself. */
export const secretRef = z.union(
  [z.strictObject({ env: z.string().min(1) }), z.strictObject({ file: z.string().min(1) })],
  {
    error:
      'must say where the secret is, as {"env": "NAME"} or {"file": "/path"}; the secret itself must not stand here',
  },
)

type SecretRef = z.output<typeof secretRef>

/** Reads a secret that may be declared; undefined without one, or if it cannot be read. */
export function secretOf(ref: SecretRef | undefined, env: NodeJS.ProcessEnv): string | undefined {
  const fetched = ref && fetchSecret(ref, env)
  return fetched && 'secret' in fetched ? fetched.secret : undefined
}

/** Reads a secret from where the file points, or returns the error. */
export function fetchSecret(
  ref: SecretRef,
  env: NodeJS.ProcessEnv,
): { readonly secret: string } | { readonly error: string } {
  if ('env' in ref) {
    const secret = env[ref.env]
    return secret ? { secret } : { error: `the environment variable ${ref.env} is not set` }
  }
  try {
    const secret = readFileSync(ref.file, 'utf8').replace(/\r?\n$/, '')
    return secret ? { secret } : { error: `the file ${ref.file} is empty` }
  } catch (error) {
    return { error: `the file ${ref.file} cannot be read (${codeOf(error)})` }
  }
}
