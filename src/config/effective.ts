import { z } from 'zod'
import { type Config, configShape, type Environment } from './config.ts'

/** A variable as it is in effect. */
export interface EffectiveVariable {
  readonly name: string
  /** As an operator writes it, without secrets; undefined if the variable is not set and has no default. */
  readonly value: string | undefined
  readonly from: 'environment' | 'default' | 'nowhere'
}

/** Returns every variable of the configuration with its value and where that is from; secrets are masked. */
export function effectiveVariables(set: Environment): readonly EffectiveVariable[] {
  return Object.entries(configShape).map(([name, schema]) => {
    const given = set[name]
    if (given !== undefined && given.trim() !== '') return { name, value: masked(name, given), from: 'environment' }
    const value = defaultOf(schema)
    return { name, value, from: value === undefined ? 'nowhere' : 'default' }
  })
}

function defaultOf(schema: (typeof configShape)[keyof Config]): string | undefined {
  return schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault ? String(schema.def.defaultValue) : undefined
}

const MASK = '(hidden)'

/** Hides a secret, and the password in an address. */
function masked(name: string, value: string): string {
  if (/SECRET|PASSWORD|PASSPHRASE/.test(name)) return MASK
  return value
    .replace(/(:\/\/[^:/?#@]*:).*@/s, `$1${MASK}@`)
    .replace(/([?&][^=&#]*password[^=&#]*=)[^&#]*/gi, `$1${MASK}`)
}
