import { z } from 'zod'
import type { Action } from '../src/language/mapping/action.ts'
import type { Callback } from '../src/language/mapping/callback.ts'
import { type Codec, type Conversion, codec, NOT_OWN } from '../src/language/mapping/codec.ts'
import * as vocabulary from '../src/language/mapping/declare.ts'
import * as codecs from './codecs.ts'
import { actions as builtIn, callbacks as builtInCallbacks } from './index.ts'

/*
 * The tools for an operator's mapping modules. The package exports the types of this file, so a module can use `import type { Toolbox }
 * from 'transload'`.
 */

export type { Action } from '../src/language/mapping/action.ts'
export type { Callback } from '../src/language/mapping/callback.ts'
export type { Codec, Conversion, Fail, LeaveOut, Remark } from '../src/language/mapping/codec.ts'
export type { Row } from '../src/language/mapping/row.ts'

/** The dependencies of an operator's module, which is outside the package and cannot import them. */
export interface Toolbox {
  readonly vocabulary: typeof vocabulary
  readonly codecs: typeof codecs
  /** Makes a codec from a schema of its version-2 values and two plain functions. */
  readonly codec: <T>(v2: z.ZodType<T>, conversion: Conversion<T>) => Codec<T>
  /** For that schema. */
  readonly z: typeof z
  /** The built-in actions by name, to derive others from. */
  readonly actions: { readonly [Name in BuiltInAction]: Action }
  /** The built-in callbacks by name, to derive others from. */
  readonly callbacks: { readonly [Name in 'shipment.event']: Callback }
}

/** The names of the built-in actions. */
export type BuiltInAction =
  | 'quote.get'
  | 'quote.update'
  | 'quote.approve'
  | 'shipment.create'
  | 'shipment.get'
  | 'shipment.update'
  | 'shipment.cancel'

/** A mapping module: its default export. */
export type MappingModule = Declarations | ((toolbox: Toolbox) => Declarations)

type Declarations = Action | Callback | readonly (Action | Callback)[]

/** Makes the toolbox that every module receives. */
export function createToolbox(): unknown {
  const actions = Object.fromEntries(builtIn.map((action) => [action.name, action]))
  const callbacks = Object.fromEntries(builtInCallbacks.map((callback) => [callback.name, callback]))
  const ofSchema: Toolbox['codec'] = (v2, conversion) =>
    codec((value) => {
      const { success, data } = v2.safeParse(value)
      return success ? data : NOT_OWN
    }, conversion)
  return { vocabulary, codecs, codec: ofSchema, z, actions, callbacks }
}
