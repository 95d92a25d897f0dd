import { fullyDecoded } from '../http/version-2-path.ts'

/** The meaning of a version-2 call that concerns the gateway: it creates or cancels a shipment, or approves a quote. */
export type Version2Call =
  | { readonly verb: 'create' }
  | { readonly verb: 'approve'; readonly id: string }
  /** `collection` is the path of the shipments, as the call spells it; `id` may be the service's number. */
  | { readonly verb: 'cancel'; readonly id: string; readonly collection: string }

/**
 * Tells what a version-2 call means, by its method and path, in every spelling that some service may take for it: the case of
 * words, parameters of a segment (`;`), escapes at any depth, blanks, and repeated or reversed slashes. Everything that asks
 * for the meaning of a path asks here. Undefined for a call that the gateway has nothing to do with.
 */
export function version2Call(method: string, url: string): Version2Call | undefined {
  if (method !== 'POST' && method !== 'DELETE') return undefined
  const [version, thing, id, verb, ...more] = segmentsOf(url)
  const word = thing?.toLowerCase()
  if (version?.toLowerCase() !== 'v2' || more.length > 0) return undefined
  if (word === 'quote' || word === 'quotes') {
    const isApproval = method === 'POST' && verb?.toLowerCase() === 'approve'
    return isApproval && id !== undefined ? { verb: 'approve', id } : undefined
  }
  if ((word !== 'shipment' && word !== 'shipments') || verb !== undefined) return undefined
  if (method === 'POST') return id === undefined ? { verb: 'create' } : undefined
  return id === undefined ? undefined : { verb: 'cancel', id, collection: `/v2/${word}` }
}

function segmentsOf(url: string): readonly string[] {
  const [path = ''] = url.split('?')
  return (fullyDecoded(path) ?? path)
    .split(/[/\\]/)
    .map((segment) => (segment.split(';', 1)[0] ?? '').trim())
    .filter((segment) => segment !== '')
}
