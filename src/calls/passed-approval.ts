import { NoReply } from '../service/exchange.ts'
import { isSuccess } from '../service/service.ts'
import type { Approval, Xref } from '../xref/xref.ts'
import { keepIds } from './approval-ids.ts'
import { parsedOrNothing } from './verify.ts'

/** The caller of an approval; one whose credential the service has not accepted yet gets no record before its reply. */
export interface Approver {
  readonly tenant: string
  readonly isProven: boolean
}

/**
 * Sends the approval of a quote, and records it as one of version 1, before it is sent: a later booking asks the service for the
 * quote's shipment even if the reply is lost. A store that fails does not fail the call.
 */
export async function recordingApproval<Reply extends { readonly status: number }>(
  quote: string,
  { tenant, isProven }: Approver,
  xref: Pick<Xref, 'approval' | 'setApproval'>,
  send: () => Promise<Reply>,
): Promise<Reply> {
  const note = (approval: Approval | undefined) => xref.setApproval(tenant, quote, approval).catch(() => undefined)
  const before = isProven ? await xref.approval(tenant, quote).catch(() => undefined) : undefined
  const isNoted = isProven && before === undefined
  if (isNoted) await note('sent')
  try {
    const reply = await send()
    if (isSuccess(reply.status)) await note('approved')
    else if (isNoted && isRefusal(reply.status)) await note(undefined)
    return reply
  } catch (error) {
    // Without a connection, nothing was sent.
    if (isNoted && error instanceof NoReply && error.silence !== 'late') await note(undefined)
    throw error
  }
}

/** Keeps the ids that the body of a successful reply names beside the quote's. A body that says nothing names none. */
export async function keepIdsOf(
  body: Buffer | undefined,
  quote: string,
  tenant: string,
  xref: Pick<Xref, 'setIdsInApproval'>,
): Promise<void> {
  const reply = body && parsedOrNothing({ body })
  await keepIds(reply, quote, tenant, xref).catch(() => undefined)
}

/** Refusals that may mean that the quote was approved earlier. */
const MADE_PERHAPS = new Set([408, 409])

const isRefusal = (status: number) => status >= 400 && status < 500 && !MADE_PERHAPS.has(status)
