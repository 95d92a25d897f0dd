import type { IncomingMessage } from 'node:http'
import { readBytes } from '../body/bytes.ts'
import { readJsonValue } from '../body/read.ts'
import type { CompiledAction } from '../mapping/compile.ts'
import { type ExplainedReply, explainReplyTranslation } from '../mapping/explain.ts'
import type { Problem } from '../mapping/fields.ts'
import type { Call } from '../observe/call.ts'
import { replyText } from '../service/failures.ts'
import type { DryRunDeps } from './dry-run.ts'

/** A reply's translation, explained. */
export interface ReplyDryRun extends Pick<ExplainedReply, 'fields' | 'unused' | 'unknown'> {
  readonly action: string
  readonly ok: boolean
  readonly problems: readonly Problem[]
  readonly reply: { readonly v2: unknown; readonly v1: Readonly<Record<string, string>> }
}

/** Reads a version-2 reply and explains its version-1 form, by the rows that a call uses. */
export async function dryRunReply(
  incoming: IncomingMessage,
  compiled: CompiledAction,
  call: Call,
  { bodyLimitBytes, settings }: Pick<DryRunDeps, 'bodyLimitBytes' | 'settings'>,
): Promise<ReplyDryRun> {
  const bytes = await readBytes(incoming, bodyLimitBytes, call.share)
  call.share.enter()
  const v2 = readJsonValue(replyText(bytes))
  const { reply, missing, ...account } = explainReplyTranslation(compiled, v2, settings, undefined)
  const problems = missing.map((field) => ({ field, code: 'required', message: `${field} is missing from the reply` }))
  return {
    action: compiled.action.name,
    ok: missing.length === 0,
    reply: { v2, v1: reply },
    ...account,
    problems,
  }
}
