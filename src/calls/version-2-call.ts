/*
 * What a version-2 call of the caller's own does, by its method and path.
 */

/** Returns the id, or the number, of the shipment that a version-2 call cancels; undefined if it cancels none. */
export function canceledBy(method: string, url: string): string | undefined {
  if (method !== 'DELETE') return undefined
  const [version, things, name, ...more] = segmentsOf(url)
  return version === 'v2' && SHIPMENTS.has(things ?? '') && more.length === 0 ? name : undefined
}

const SHIPMENTS = new Set(['shipment', 'shipments'])
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Returns the id, or the number, of the shipment that a version-2 call may change; undefined if it changes none. */
export function changedBy(method: string, url: string): string | undefined {
  if (SAFE_METHODS.has(method)) return undefined
  const [version, things, name] = segmentsOf(url)
  return version === 'v2' && (SHIPMENTS.has(things ?? '') || things === 'quote') ? name : undefined
}

/** Returns the id of the quote that a version-2 call approves; undefined if it approves none. */
export function approvedBy(method: string, url: string): string | undefined {
  if (method !== 'POST') return undefined
  const [version, things, id, verb, ...more] = segmentsOf(url)
  return version === 'v2' && things === 'quote' && verb === 'approve' && more.length === 0 ? id : undefined
}

/** Tells if a version-2 call may book: it creates a shipment, or approves a quote. */
export function mayBook(method: string, url: string): boolean {
  if (method !== 'POST') return false
  // Where the service ignores the case, or parameters of a segment, it is the same path.
  const [version, things, ...more] = segmentsOf(url.toLowerCase()).map((segment) => segment.split(';', 1)[0] ?? '')
  if (version !== 'v2') return false
  if (things === 'quote') return more.length === 2 && more[1] === 'approve'
  return SHIPMENTS.has(things ?? '') && more.length === 0
}

/** Returns the segments of a path as the service may read them; the router has refused what cannot be decoded. */
function segmentsOf(url: string): readonly string[] {
  const [path = ''] = url.split('?')
  return decodeURIComponent(path)
    .split('/')
    .filter((segment) => segment !== '')
}
