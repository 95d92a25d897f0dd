import type { IncomingMessage } from 'node:http'
import { readBytes } from '../body/bytes.ts'
import { GatewayError } from '../errors.ts'
import { accountForReply, type ReplyAccount } from '../mapping/account.ts'
import type { CompiledAction } from '../mapping/compile.ts'
import type { Problem } from '../mapping/fields.ts'
import type { DryRunDeps } from './dry-run.ts'

/** A reply's translation, explained. */
export interface ReplyDryRun extends Pick<ReplyAccount, 'fields' | 'unused' | 'unknown'> {
  readonly action: string
  readonly ok: boolean
  readonly problems: readonly Problem[]
  readonly reply: { readonly v2: unknown; readonly v1: Readonly<Record<string, string>> }
}

/** Reads a version-2 reply and explains its version-1 form, by the rows that a call uses. */
export async function dryRunReply(
  incoming: IncomingMessage,
  compiled: CompiledAction,
  { bodyLimitBytes, settings }: Pick<DryRunDeps, 'bodyLimitBytes' | 'settings'>,
): Promise<ReplyDryRun> {
  const v2 = parsed(await readBytes(incoming, bodyLimitBytes))
  const { reply, missing, ...account } = accountForReply(compiled, v2, settings, undefined)
  const problems = missing.map((field) => ({ field, code: 'required', message: `${field} is missing from the reply` }))
  return {
    action: compiled.action.name,
    ok: missing.length === 0,
    reply: { v2, v1: reply },
    ...account,
    problems,
  }
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch (cause) {
    throw new GatewayError('body-unreadable', 'The body is not JSON. Send a version-2 reply.', { cause })
  }
}
