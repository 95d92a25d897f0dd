import { hash as sha256, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Config } from '../../language/config/config.ts'
import type { Tenant } from '../../language/config/tenants-file.ts'
import { CHALLENGE, type GatewayError, gatewayError } from '../../language/errors.ts'
import { type Deprecation, deprecationOf } from '../../language/legacy-headers.ts'
import type { Catalog } from '../../language/mapping/catalog.ts'
import type { Settings } from '../../language/mapping/row.ts'
import type { SigningKey } from '../../language/webhook-signature.ts'
import { type Account, type AccountOfCaller, type AuthorizedReply, openAccount } from '../../outside/service/account.ts'
import { basicPair } from '../../outside/service/credential.ts'
import type { Sending } from '../../outside/service/service.ts'
import type { ServiceCredential, Upstream } from '../../outside/service/upstream.ts'
import type { Share } from '../../runtime/call.ts'
import type { Logger } from '../../runtime/log.ts'
import type { Reloads } from '../../runtime/reloads.ts'
import type { Limits } from '../limits/rates.ts'
import type { BrowserChecks } from './browsers.ts'

/** A caller, and its account at the service. */
export interface Caller extends OwnCaller {
  /** Scopes cross-references, limits and connections. */
  readonly tenant: string
  /**
   * The caller's own credential if only the service can verify it; undefined if the gateway has verified the caller.
   */
  readonly credential: string | undefined
}

/** The settings that a tenant may override. */
interface Profile {
  readonly settings: Settings
  readonly errorStatus: Config['ERROR_STATUS']
  /** The contact for callers. */
  readonly support: string | undefined
  /** More `ActionName`s: name → action. */
  readonly synonyms: Readonly<Record<string, string>>
  readonly deprecation: Deprecation
  /** Undefined if nothing is limited. */
  readonly limits: Limits | undefined
}

/** The address and credential of a passed-through call. */
export interface PassThrough extends ServiceCredential {
  readonly prefix: string
  /** Undefined if the call names no client. */
  readonly tenant?: string | undefined
  /** The caller's own header, or the function that returns the header for the service; undefined sends none. */
  readonly authorization: string | Account['authorization'] | undefined
  /** The account with which the gateway itself reads for the call; undefined without a credential. */
  readonly reader?: Account
  /** Undefined if the call's own credential is all there is. */
  readonly authorized?: Account['authorized']
  /** Learns from the reply to a call with this authorization. */
  readonly learn?: (authorization: string, answer: AuthorizedReply, request: IncomingMessage) => void
  readonly limits: Limits | undefined
}

/** Identifies callers, and chooses the credential for the service. */
export interface Credentials {
  readonly mode: 'client' | 'fixed' | 'tenants'
  /** Returns the names of the tenants that the operator declared. */
  readonly tenants: () => readonly string[]
  /** Returns the caller of a legacy call; throws if there is none. The call may hold one of the few turns until it ends. */
  readonly identify: (incoming: IncomingMessage, share: Share) => Caller | Promise<Caller>
  /**
   * Returns the caller if it can be verified without asking the service: by the gateway itself, or because the service accepted it before.
   */
  readonly verified: (incoming: IncomingMessage, share: Share) => Promise<Caller | undefined>
  /** The same for a call that passes through; `streams` says that its body has not been read yet. */
  readonly passThrough: (
    incoming: IncomingMessage,
    streams: boolean,
    share: Share,
  ) => PassThrough | Promise<PassThrough>
  /** Returns a tenant whose credential the operator gave to the gateway; undefined for any other. */
  readonly ownCaller: (tenant: string) => OwnCaller | undefined
  /** Returns the tenants that receive the service's events. */
  readonly eventRecipients: () => readonly EventRecipient[]
}

/** A tenant on whose behalf the gateway can call the service. */
export interface OwnCaller {
  readonly account: Account
  readonly profile: Profile
}

/**
 * Asks the service with a harmless read whether it accepts a credential; throws if the service rejects it or gives no verdict. Undefined if
 * the service has accepted it already.
 */
export type Prove = (sending: Sending) => Promise<void> | undefined

/** The rooms that callers use. */
export interface CallerRooms {
  readonly config: Config
  readonly settings: Settings
  readonly upstream: Upstream
  readonly prove: Prove
  readonly browserChecks: BrowserChecks
  readonly catalog: Catalog
  readonly log: Logger
  readonly reloads: Reloads
}

/** The profile of callers without their own. */
export function commonProfile({ config, settings }: { readonly config: Config; readonly settings: Settings }): Profile {
  return {
    settings,
    errorStatus: config.ERROR_STATUS,
    support: config.SUPPORT_CONTACT,
    synonyms: {},
    deprecation: deprecationFor(config),
    limits: undefined,
  }
}

/** Returns a tenant's deprecation: its own values, otherwise the configuration's. Without a tenant, only the configuration counts. */
export function deprecationFor(config: Config, tenant?: Tenant): Deprecation {
  const { retired_from: retiredFrom = config.RETIRED_FROM } = tenant ?? {}
  return deprecationOf({
    sunset: tenant?.sunset ?? config.SUNSET,
    retiredFrom: retiredFrom === 'never' ? undefined : retiredFrom,
    guide: (tenant?.migration_guide_url ?? config.MIGRATION_GUIDE_URL)?.href,
    windows: tenant?.brownouts ?? config.BROWNOUTS ?? [],
    coversBookings: tenant?.brownout_bookings ?? config.BROWNOUT_BOOKINGS,
  })
}

/** Opens an account at an address of the service. */
export function accountAt(
  { config, upstream }: CallerRooms,
  address: Config['V2_BASE_URL'],
  options: AccountOfCaller,
): Account {
  return openAccount({ upstream, ...address, ...options, timeoutMs: config.UPSTREAM_TIMEOUT_MS })
}

/** Returns the address and credential of a passed-through call with an account that the operator gave to the gateway. */
export function passThroughOf({ tenant, account, profile }: Caller): PassThrough {
  return { ...account, tenant, reader: account, limits: profile.limits }
}

/** Returns the error of a call without a readable credential. */
export function missingCredential({ headers: { authorization } }: IncomingMessage): GatewayError {
  const name = !authorization
    ? 'credential-missing'
    : basicPair(authorization)
      ? 'credential-missing/control-character'
      : /^basic\b/i.test(authorization)
        ? 'credential-missing/no-pair'
        : 'credential-missing/unreadable'
  return gatewayError(name, {}, CHALLENGE)
}

/** Returns the error of a call with a wrong credential: an unknown id and a wrong secret look the same. */
export function wrongCredential(): GatewayError {
  return gatewayError('credential-wrong', {}, CHALLENGE)
}

/** Reports whether a call brings a token of its own. */
export function isBearer(authorization: string | undefined): authorization is string {
  return /^bearer /i.test(authorization ?? '')
}

/** A tenant that receives the service's events. */
export interface EventRecipient {
  readonly tenant: string
  /** SHA-256 hashes of the secrets in the path of its events. */
  readonly secretHashes: readonly Buffer[]
  /** Empty if its events are not signed. */
  readonly signingKeys: readonly SigningKey[]
  /** True if its events are delivered to its own receiver. */
  readonly hasCallback: boolean
}

/** Returns the tenant as a recipient; none without a secret. */
export function recipientsOf(
  tenant: string,
  secrets: readonly string[] = [],
  signingKeys: readonly SigningKey[] = [],
  hasCallback = false,
): readonly EventRecipient[] {
  return secrets.length === 0 ? [] : [{ tenant, secretHashes: secrets.map(hash), signingKeys, hasCallback }]
}

/** Finds the recipient with a secret. Every hash is compared, each in constant time, so that the time tells nothing about the secrets. */
export function recipientOf(secret: string, recipients: readonly EventRecipient[]): EventRecipient | undefined {
  const wanted = hash(secret)
  let found: EventRecipient | undefined
  for (const recipient of recipients) {
    for (const known of recipient.secretHashes) if (timingSafeEqual(known, wanted)) found = recipient
  }
  return found
}

const hash = (secret: string): Buffer => sha256('sha256', secret, 'buffer')
