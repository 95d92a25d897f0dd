import { isSameThing, VIN } from '../../language/text/service-text.ts'
import { demandWhole } from './copy.ts'
import { isRenewed } from './instance.ts'
import { nameReads, nameWrites } from './names.ts'
import { CLAIMS } from './schema.ts'
import type {
  AuditEntry,
  BookedVehicle,
  Claim,
  ClaimChange,
  ClaimFilter,
  ClaimState,
  ClaimVersion,
  KnownVehicles,
  NamesWrite,
  NewClaim,
  Vehicle,
} from './store.ts'
import { now, sql, TODAY, type Work } from './work.ts'

const STATES: readonly ClaimState[] = ['sending', 'booked', 'refused', 'unknown', 'freed']

/** Reports whether an existing claim may be taken again at this time. */
export function isFree(claim: Claim, at: number): boolean {
  switch (claim.state) {
    case 'refused':
    case 'freed':
      return true
    case 'booked':
      return claim.expires !== 0 && claim.expires <= at
    case 'sending':
    case 'unknown':
      return false
    default:
      return claim.state satisfies never
  }
}

/**
 * Returns a winner's claim. Its version follows the previous one, so that a late change by the former owner fails. A booking in doubt
 * counts as old as the doubt, so that its shipment is not taken for one that existed before.
 */
export function newlyClaimed(wanted: NewClaim, before: Claim | undefined, at: number): Claim {
  const { expiresInMs, doubtSince, isOfReference: _, ...given } = wanted
  const createdAt = doubtSince ?? at
  return {
    ...given,
    state: doubtSince === undefined ? 'sending' : 'unknown',
    version: (before?.version ?? 0) + 1,
    shipment: '',
    reply: '',
    expires: expiresInMs === undefined ? 0 : createdAt + expiresInMs,
    createdAt,
    changedAt: at,
  }
}

/**
 * Returns the claim after a change. Its time starts once it is booked: if an operator settles it later, the caller's next attempt is still
 * answered from it.
 */
export function changed(claim: Claim, change: ClaimChange, at: number): Claim {
  const lastsMs = claim.expires - (claim.state === 'booked' ? claim.changedAt : claim.createdAt)
  return {
    ...claim,
    state: change.state,
    version: claim.version + 1,
    instance: change.instance,
    shipment: change.shipment ?? claim.shipment,
    reply: change.reply ?? claim.reply,
    expires: claim.expires === 0 ? 0 : lastsMs + (change.state === 'booked' ? at : claim.createdAt),
    changedAt: at,
  }
}

/** The values that tell a vehicle apart; a value that was not given is absent or empty. */
type ToldVehicle = Partial<Vehicle>

/**
 * Reports whether a wanted booking is provably for another vehicle than a claim: by a VIN that none of the claim's vehicles has or had; or,
 * if one or both have no VIN, by a year, make, or model that differs both from what was booked and from what the shipment has since.
 */
export function isOtherVehicle(
  wanted: BookedVehicle,
  claim: BookedVehicle,
  shipment: KnownVehicles | undefined,
): boolean {
  const shown = shipment?.vehicles ?? []
  const known: readonly ToldVehicle[] = shown.length > 0 ? shown : [toldBy(claim)]
  const vins = new Set([
    claim.vin,
    ...shown.map(({ vin }) => vin),
    ...Object.entries(shipment?.formerVins ?? {}).flat(),
  ])
  if (wanted.vin !== '' && vins.values().some((vin) => mayBeSameVin(vin, wanted.vin))) return false
  const told = toldBy(wanted)
  const differs = (vehicle: ToldVehicle) => (one: 'vin' | 'year' | 'make' | 'model') =>
    Boolean(told[one]) && Boolean(vehicle[one]) && told[one] !== vehicle[one]
  const isOther = (vehicle: ToldVehicle) => (['year', 'make', 'model'] as const).some(differs(vehicle))
  // A later change proves nothing about a vehicle without a VIN; a value that was not booked counts as shown.
  const booked = Object.fromEntries(Object.entries(toldBy(claim)).filter(([, value]) => value !== ''))
  return known.every((vehicle) =>
    told.vin && vehicle.vin ? differs(vehicle)('vin') : isOther(vehicle) && isOther({ ...vehicle, ...booked }),
  )
}

/** Reports whether two VINs may be one: some callers write words right beside it, and earlier gateways kept all words. */
const mayBeSameVin = (one: string, other: string): boolean =>
  one === other || (VIN.test(one) && other.includes(one)) || (VIN.test(other) && one.includes(other))

/** Reports whether a wanted booking is provably for another vehicle than those of a shipment. */
export const isOfOtherVehicle = (wanted: BookedVehicle, shipment: KnownVehicles | undefined): boolean =>
  isOtherVehicle(wanted, NO_VEHICLE, shipment)

const NO_VEHICLE: BookedVehicle = { vin: '', vehicle: '' }

/** Returns a claim's vehicle. Only this program writes its JSON. */
export const toldBy = ({ vin, vehicle }: BookedVehicle): ToldVehicle & { readonly vin: string } => ({
  ...(vehicle === '' ? {} : (JSON.parse(vehicle) as ToldVehicle)),
  vin,
})

/** The default number of claims in a list. */
const LIST_LIMIT = 1_000

/** Returns the reason for a new claim, for the audit trail. */
export function claimReason({ doubtSince }: NewClaim): string {
  return doubtSince === undefined ? 'claimed' : 'may have been booked before the store was restored'
}

/** Tests a name that may be long, using the index of its beginning. */
const isCalled = (own: string, given: string) =>
  `substr(${own}, 1, 400) = substr(${given}, 1, 400) AND ${own} = ${given}`

const SELECT_CLAIMS = `SELECT ${CLAIMS.names} FROM transload.claims`
const AT_KEY = 'WHERE tenant = $1 AND key = $2'
const FIND_CLAIM = `${SELECT_CLAIMS} ${AT_KEY}`
const LOCK = ' FOR UPDATE'
const LOCK_CLAIM = `${FIND_CLAIM}${LOCK}`
/** The claims of a reference: their keys begin with the first one's key. */
const OF_KEY = `${SELECT_CLAIMS} WHERE tenant = $1 AND key >= $2 AND key < $2 || '/' ORDER BY key`
/** An existing claim was taken again, and has the previous version. */
const PUT_CLAIM = `INSERT INTO transload.claims AS old (trail, ${CLAIMS.names}, used_day)
  VALUES ($1, ${CLAIMS.all.map((_, index) => `$${index + 2}`).join(', ')}, ${TODAY})
  ON CONFLICT (tenant, key) DO UPDATE SET trail = excluded.trail, used_day = excluded.used_day,
  ${CLAIMS.all
    .slice(2)
    .map(({ name }) => `${name} = excluded.${name}`)
    .join(', ')}
  WHERE old.version = excluded.version - 1 RETURNING 1`
// Sets only what changes: each further column would be written again in its index.
const UPDATE_CLAIM = `UPDATE transload.claims SET state = $3, version = $4, instance = $5, shipment = $6, reply = $7,
  expires = $8, changed_at = $9, trail = trail || ',' || $10, used_day = ${TODAY} ${AT_KEY}`

/** Keeps the trail of a claim that is taken again as long as others. */
const KEEP_TRAIL = `INSERT INTO transload.old_trails AS old (handle, trail, used_day) SELECT handle, trail, ${TODAY} FROM transload.claims ${AT_KEY}
  ON CONFLICT (handle) DO UPDATE SET trail = old.trail || ',' || excluded.trail`

/** An entry of a trail. */
type Entry = readonly [at: number, from: AuditEntry['from'], to: ClaimState, instance: string, why: string]

const entryOf = ({ changedAt, state, instance }: Claim, from: AuditEntry['from'], why: string): string =>
  JSON.stringify([changedAt, from, state, instance, why] satisfies Entry)

const IS_ALIVE = isRenewed('$1::bigint')

/** Reads from the record of bookings. */
export const claimReads = {
  *findClaim(tenant: string, key: string): Work<Claim | undefined> {
    return (yield* CLAIMS.read(FIND_CLAIM, tenant, key))[0]
  },
  *claimByHandle(handle: string): Work<Claim | undefined> {
    return (yield* CLAIMS.read(`${SELECT_CLAIMS} WHERE handle = $1`, handle))[0]
  },
  /** Returns the claim that a wanted one would meet, without taking anything: it holds the key, or is for the same vehicle. */
  *holderOf(wanted: NewClaim): Work<Claim | undefined> {
    return (yield* claimPlace(wanted, yield* now())).holder
  },
  /** Returns the claims of a shipment, however they and the caller spell its UUID. */
  *claimsOfShipment(tenant: string, shipment: string): Work<readonly Claim[]> {
    const text = `${SELECT_CLAIMS} WHERE tenant = $1 AND lower(shipment) = lower($2) AND shipment <> ''
      ORDER BY created_at, handle`
    return (yield* CLAIMS.read(text, tenant, shipment)).filter((claim) => isSameThing(claim.shipment, shipment))
  },
  /** Returns the claims of a reference in any case, oldest first. */
  *claimsOfReference(tenant: string, reference: string): Work<readonly Claim[]> {
    const text = `${SELECT_CLAIMS} WHERE ${isCalled('lower(reference)', 'lower($2)')} AND tenant = $1
      AND reference <> '' ORDER BY created_at, handle`
    return yield* CLAIMS.read(text, tenant, reference)
  },
  /**
   * Returns claims, oldest first unless `newest`, at most `limit` (1,000 by default). Reads each state in order, by one index for all
   * tenants and one for each. Claims with a name are read by the indexes of names, which a plain `state` would lose to the index of states.
   */
  *listClaims({
    state,
    tenant,
    since,
    until,
    after,
    name,
    limit = LIST_LIMIT,
    newest = false,
  }: ClaimFilter): Work<readonly Claim[]> {
    const order = newest ? 'DESC' : 'ASC'
    const values: (string | number)[] = [limit]
    const given = (value: string | number) => `$${values.push(value) + 1}`
    const where = [
      ...(tenant === undefined ? [] : [`tenant = ${given(tenant)}`]),
      ...(since === undefined ? [] : [`created_at >= ${given(since)}`]),
      ...(until === undefined ? [] : [`created_at < ${given(until)}`]),
      ...(name === undefined || state === undefined ? [] : [`state || '' = ${given(state)}`]),
      ...(after === undefined
        ? []
        : [`(created_at, handle) ${newest ? '<' : '>'} (${given(after.createdAt)}, ${given(after.handle)})`]),
    ].map((condition) => ` AND ${condition}`)
    const found = new Map<string, Claim>()
    const states = state === undefined ? STATES : [state]
    const looks = name === undefined ? states.map((one) => ['state = $1', one]) : NAMED_BY.map((test) => [test, name])
    for (const [test, value = ''] of looks) {
      const text = `${SELECT_CLAIMS} WHERE ${test}${where.join('')}
        ORDER BY created_at ${order}, handle ${order} LIMIT $2`
      for (const claim of yield* CLAIMS.read(text, value, ...values)) found.set(claim.handle, claim)
    }
    const sign = newest ? -1 : 1
    return [...found.values()].sort((one, other) => sign * byAge(one, other)).slice(0, limit)
  },
  /** Counts the claims in each state, for one tenant or all, up to `most`. */
  *countClaims(most: number, tenant?: string): Work<Readonly<Partial<Record<ClaimState, number>>>> {
    const counts: Partial<Record<ClaimState, number>> = {}
    for (const state of STATES) {
      const of = tenant === undefined ? '' : ' AND tenant = $3'
      const text = `SELECT count(*) AS count FROM (SELECT 1 FROM transload.claims WHERE state = $1${of} LIMIT $2) AS found`
      const [row] = yield sql(text, state, most, ...(tenant === undefined ? [] : [tenant]))
      counts[state] = Number(row?.['count'] ?? 0)
    }
    return counts
  },
  *audit(handle: string): Work<readonly AuditEntry[]> {
    const text = `SELECT trail FROM transload.old_trails WHERE handle = $1
      UNION ALL SELECT trail FROM transload.claims WHERE handle = $1`
    const entries: readonly Entry[] = JSON.parse(`[${(yield sql(text, handle)).map(({ trail }) => trail).join()}]`)
    return entries.map(([at, from, to, instance, why]) => ({ at, from, to, instance, why }))
  },
}

/** The tests for a claim's names, each with an index. People may type a name in any case. */
const NAMED_BY = [
  'handle = lower($1)',
  `${isCalled('lower(reference)', 'lower($1)')} AND reference <> ''`,
  `${isCalled('vin', 'upper($1)')} AND vin <> ''`,
  "lower(shipment) = lower($1) AND shipment <> ''",
]

const byAge = (one: Claim, other: Claim) =>
  one.createdAt - other.createdAt || Buffer.compare(Buffer.from(one.handle), Buffer.from(other.handle))

/** The durable record of bookings that are under way, made or in doubt. */
export const claimWrites = {
  /**
   * Takes the key, durably, if it is free: never seen, `refused`, `freed`, or `booked` and expired. Of any number of callers and gateways,
   * one wins; the others get the claim that holds the key. Under a reference, a claim that is not free holds the key, unless the wanted
   * vehicle is provably another one. Then the wanted booking gets its own claim.
   */
  *claim(wanted: NewClaim): Work<{ readonly won: boolean; readonly claim: Claim }> {
    yield* demandWhole()
    for (;;) {
      const at = yield* now()
      const { key, before, holder } = yield* claimPlace(wanted, at, LOCK)
      if (holder) return { won: false, claim: holder }
      if (before) yield sql(KEEP_TRAIL, wanted.tenant, key)
      const claim = { ...newlyClaimed(wanted, before, at), key }
      const entry = entryOf(claim, before?.state ?? 'none', claimReason(wanted))
      const put = yield sql(PUT_CLAIM, entry, ...CLAIMS.all.map(({ property }) => claim[property]))
      // Without a row, another gateway has taken the key in the meantime.
      if (put.length > 0) return { won: true, claim }
    }
  },
  /**
   * Changes a claim if it still has this version, otherwise returns undefined. In both cases it writes `names` first, as `put` does, so
   * that whoever sees the change also sees them.
   */
  *change({ tenant, key, version }: ClaimVersion, change: ClaimChange, names?: NamesWrite): Work<Claim | undefined> {
    if (names) yield* nameWrites.put(names)
    const before = (yield* CLAIMS.read(LOCK_CLAIM, tenant, key))[0]
    return before?.version === version ? yield* updateClaim(before, change) : undefined
  },
  /**
   * Renews an instance's lease. Returns true if the previous renewal is younger than this: between the two, no other instance can have
   * treated this one's claims as abandoned.
   */
  *renewLease(instance: string, maxAgeMs: number): Work<boolean> {
    const [lease] = yield sql(
      'SELECT transload.lease_ms() - beat_ms AS age FROM transload.instances WHERE instance = $1',
      instance,
    )
    yield sql(
      `INSERT INTO transload.instances (instance, beat_ms) VALUES ($1, transload.lease_ms())
        ON CONFLICT (instance) DO UPDATE SET beat_ms = excluded.beat_ms`,
      instance,
    )
    const age = Number(lease?.['age'])
    return age >= 0 && age < maxAgeMs
  },
  /** Ends an instance's lease now. */
  *endLease(instance: string): Work<void> {
    yield sql('DELETE FROM transload.instances WHERE instance = $1', instance)
  },
  /** Turns the `sending` claims of instances without a renewal for this long into `unknown`, and returns them. */
  *orphanClaims(silentForMs: number, by: string): Work<readonly Claim[]> {
    const gone = yield* CLAIMS.read(
      `${SELECT_CLAIMS} AS claim WHERE state = 'sending' AND NOT EXISTS (SELECT 1 FROM transload.instances AS alive
        WHERE alive.instance = claim.instance AND ${IS_ALIVE}) ORDER BY tenant, key FOR UPDATE`,
      Math.round(silentForMs),
    )
    const orphaned: Claim[] = []
    for (const claim of gone) {
      const why = `gateway ${claim.instance} is gone`
      orphaned.push(yield* updateClaim(claim, { state: 'unknown', instance: by, why }))
    }
    return orphaned.sort(byAge)
  },
}

/** The place for a wanted claim: the claim that holds it, or a key and the claim that was there before. */
interface ClaimPlace {
  readonly key: string
  readonly before?: Claim | undefined
  readonly holder?: Claim | undefined
}

/** Finds the place for a wanted claim among claims that a lock may keep unchanged. With a later `at`, more claims count as free. */
export function* claimPlace(wanted: NewClaim, at: number, lock: typeof LOCK | '' = ''): Work<ClaimPlace> {
  const { tenant, key, isOfReference } = wanted
  if (!isOfReference) {
    const before = (yield* CLAIMS.read(`${FIND_CLAIM}${lock}`, tenant, key))[0]
    return before && !isFree(before, at) ? { key, holder: before } : { key, before }
  }
  let found = yield sql(`${OF_KEY}${lock}`, tenant, key)
  if (found.length === 0) return { key }
  // A new statement sees what was claimed while the previous one waited for the locks.
  if (lock !== '') found = yield sql(OF_KEY, tenant, key)
  const claims = found.map(CLAIMS.of).filter((claim) => claim.key === key || claim.key.startsWith(`${key}.`))
  const holders: Claim[] = []
  /** Those of other vehicles, unless an update without an outcome has changed these. */
  const doubtful: Claim[] = []
  for (const claim of claims) {
    if (isFree(claim, at)) continue
    const shipment = claim.shipment === '' ? undefined : yield* nameReads.shipment(tenant, claim.shipment)
    if (!isOtherVehicle(wanted, claim, shipment)) holders.push(claim)
    else if (shipment?.state === 'in-doubt') doubtful.push(claim)
  }
  const [holder] = (holders.length > 0 ? holders : doubtful).sort(
    (one, other) => rankFor(wanted, other) - rankFor(wanted, one) || byAge(other, one),
  )
  if (holder) return { key, holder }
  const before = claims.find(
    (claim) => isFree(claim, at) && claim.vin === wanted.vin && claim.vehicle === wanted.vehicle,
  )
  return before ? { key: before.key, before } : { key: freeKey(key, claims) }
}

/** If several claims may be for the wanted vehicle, the caller hears of its own first, then of an open one. */
const rankFor = ({ body }: NewClaim, claim: Claim): number =>
  (claim.body === body ? 4 : 0) + (claim.state === 'sending' ? 2 : claim.state === 'unknown' ? 1 : 0)

/** Returns the first key of a reference that no claim has, so that two gateways that decide at the same time choose the same one. */
function freeKey(key: string, claims: readonly Claim[]): string {
  const taken = new Set(claims.map((claim) => claim.key))
  for (let nth = 2, free = key; ; nth += 1) {
    if (!taken.has(free)) return free
    free = `${key}.${nth}`
  }
}

function* updateClaim(before: Claim, change: ClaimChange): Work<Claim> {
  const claim = changed(before, change, yield* now())
  const { tenant, key, state, version, instance, shipment, reply, expires, changedAt } = claim
  const entry = entryOf(claim, before.state, change.why)
  yield sql(UPDATE_CLAIM, tenant, key, state, version, instance, shipment, reply, expires, changedAt, entry)
  return claim
}
