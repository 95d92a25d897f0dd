import type { ErrorCode } from './errors.ts'

/** Stands in messages for `SUPPORT_CONTACT`, where that is not set. */
export const SUPPORT = 'the people who run this address'

/**
 * The messages of errors, by code; where a code has several, `/` and a word follow it. `{name}` is filled in by
 * `gatewayError`, and `{serviceSays}` is the service's own message where its reply holds one. `docs/wire.md` shows them all.
 */
export const messages = {
  'path-unreadable':
    'Malformed path. Percent-encode it, and use no control characters; below /v2/, use no dot segments.',
  'body-unreadable/empty': 'The body is empty. Send a JSON object or name=value pairs in it; the query is not read.',
  'body-unreadable/json': 'The body is not JSON: {fault}. Send a JSON object or name=value pairs.',
  'body-unreadable/form': 'The body is neither a JSON object nor name=value pairs. Send one of them.',
  'body-unreadable/multipart': 'The body is not multipart/form-data: {fault}. Send a JSON object or name=value pairs.',
  'body-unreadable/encoding': 'Unknown Content-Encoding. Send gzip, deflate or a plain body.',
  'body-unreadable/compression': 'The body does not match its Content-Encoding. Send all of it, or send it plain.',
  'body-unreadable/incomplete': 'The connection closed before the whole body arrived. Send the request again.',
  'body-unreadable/chunks': 'The chunks of the body are too small. Send larger ones.',
  'body-unreadable/event': 'The body is not an event. Send a JSON object with shipment_id, event_date and data.',
  'body-unreadable/reply': 'The body is not JSON. Send a version-2 reply.',
  'event-unreadable': 'The event {fault}. Send a JSON object with shipment_id, event and event_date.',
  'caller-gone': 'The caller hung up; nothing was sent.',
  'credential-missing':
    'No credential was sent. Send the Client ID and the Client Secret as HTTP Basic authentication.',
  'credential-missing/unreadable':
    'The Authorization header is not one of HTTP Basic authentication. Send Basic, a blank, and the Base64 of Client ID, colon, Client Secret.',
  'credential-missing/no-pair':
    'The Authorization header says Basic, but what follows is not the Base64 of a Client ID, a colon and a Client Secret. Encode them together.',
  'credential-missing/control-character':
    'The Client ID contains a control character, such as NUL or a line break. Send the Client ID as it was given to you.',
  'credential-wrong': 'The Client ID or the Client Secret is wrong. Check both.',
  'login-refused':
    'The service gives no token for this credential. Check the Client ID and the Client Secret.{serviceSays}',
  'signature-wrong': 'The signature of the event is {fault}. Sign it as Standard Webhooks does.',
  'token-not-given':
    'This gateway gives no tokens. Send the calls without one; the gateway authenticates them at the service.',
  'origin-foreign':
    'Web pages of other sites cannot call this gateway. If the page is its own, its operator adds the origin to ALLOWED_HOSTS.',
  'host-unknown': 'The gateway is not reached by the name {name}, unless its operator adds the name to ALLOWED_HOSTS.',
  'path-unknown': 'Nothing is served at this path. The legacy paths are {paths}.',
  'path-unknown/admin': 'Nothing is served at this path.',
  'path-unknown/booking': 'No booking has this key.',
  'path-unknown/tenant': 'No tenant of this name is known.',
  'path-unknown/check':
    'No request of yours was checked in the last 15 minutes. Point your program at /check in place of the service, and run it.',
  'path-unknown/action': 'Unknown action. The actions are {actions}.',
  'path-unknown/event': 'No callback is declared for this event.',
  'path-unknown/version-2': 'No version-2 endpoint matches this path. Call the version-2 API directly.',
  'number-unknown': 'No {kind} found for {names}. Check the number.',
  'number-unknown/vin': 'No vehicle with VinNo {vin} under this number. Its vehicles are {vins}. Check the VIN.',
  'number-unknown/dots': 'An id of dots alone is not valid. Check the number.',
  'method-wrong': 'This path accepts {methods}.',
  'numbers-disagree':
    'The fields name different {kind}s, so nothing was sent: {meanings}. Send only the number of the {kind} that you mean.',
  'several-matches': 'This number means several vehicles, so nothing was sent. Send one of these as VinNo: {vins}.',
  'several-matches/vin':
    'VinNo {vin} is not the VIN of one vehicle under this number, so nothing was sent. Its vehicles are {vins}. Send one of these as VinNo.',
  'several-matches/cancel':
    'VinNo {vin} is not that of a shipment with one vehicle, so nothing was canceled. The vehicles under this number are {vins}. To cancel a shipment of several vehicles, send its number without a VinNo.',
  'booking-conflict':
    'This reference is already booked with different details, so nothing was sent. To change the shipment, call /updateShipment.php. (Booking {key})',
  'booking-conflict/under-way':
    'Another booking with this reference is in progress, so this one was not sent. Wait for its result before you use another reference. (Booking {key})',
  'booking-conflict/vin':
    'A vehicle with VinNo {vin} was booked under this reference before ({key}), so nothing was changed. Check the VIN.',
  'booking-under-way': 'This booking is already in progress ({key}). Send it again in a few seconds to get the result.',
  'booking-under-way/approval':
    'The quote of this booking is being approved, and nothing was sent. Send the booking again in a few seconds.',
  'shipment-changed': 'The shipment kept changing while it was updated. Send the same request again.',
  'shipment-changed/under-way':
    'Other requests for this shipment or quote are under way; nothing was sent. Send the same request again.',
  'body-too-large': 'The body is larger than {bytes} bytes. Send a smaller one.',
  'too-many-fields': 'The body has more than {fields} fields. Leave out unused ones.',
  'action-unknown': '{path} does not know this ActionName{name}. Send one of these: {names}.',
  'generations-mixed':
    'The body mixes version 1 (such as {version1}) and version 2 (such as {version2}). Send one of the two.',
  'number-missing': 'The body has no id. Send the id of the {kind}.',
  untranslatable: '{problems}',
  'untranslatable/blank': 'Nothing was changed: {problems}.',
  'too-many-calls': 'Too many calls at once for this account. Send fewer, or try again in {seconds} s.',
  'too-many-calls/source':
    'Too many calls from this address are under way. Send fewer at once, or try again in a second.',
  'too-many-calls/secrets':
    'Too many wrong credentials from this address. Check the Client ID and the Client Secret, and wait a minute.',
  'too-many-calls/credentials':
    'Too many credentials from this address are being checked; nothing was sent. Try again in a few seconds.',
  'gateway-failed': 'The gateway failed. Give the X-Request-Id of this answer to the people who run this address.',
  'login-failed': 'The service gives no token now. Try again later.{serviceSays}',
  'login-failed/unreadable': 'The service gave a token that cannot be read. Try again later.',
  'login-failed/unreachable': 'The service cannot be reached for a token; nothing was sent. Try again later.',
  'login-failed/silent': 'The service gave no token in time; nothing was sent. Try again later.',
  'service-refused': 'The service refused the call.{serviceSays}',
  'service-refused/not-served':
    'The service does not serve this call; nothing was done. Tell the people who run this address.',
  'service-refused/401':
    'The service does not accept the credential. Check the Client ID and the Client Secret.{serviceSays}',
  'service-refused/403': 'The service does not permit this call with the credential that was sent.{serviceSays}',
  'service-refused/404': 'The service does not know this number. Check it.{serviceSays}',
  'service-refused/429': 'The service receives too many calls. Try again later.{serviceSays}',
  'service-refused/canceled':
    'The quote was approved before, and its shipment is canceled. Get a new quote, or book without one.',
  'service-failed': 'The service failed with status {status}. Try again later.{serviceSays}',
  'service-failed/redirect': 'The service answered with a redirect ({status}), which is not followed.',
  'service-failed/lost': 'The connection to the service broke before it answered. Try again.',
  'service-failed/perhaps-done':
    'The connection to the service broke before it answered. It may have done what was asked: look before you send this again.',
  'service-failed/change':
    'The connection to the service broke before it answered. The change may have been made or not; send it again.',
  'service-unreachable': 'The service cannot be reached; nothing was sent. Try again later.',
  'service-unreadable/json': "The service's reply is not JSON. Try again later.",
  'service-unreadable/json-change':
    "The service's reply is not JSON. The change may have been made or not; send it again.",
  'service-unreadable/size': "The service's reply is too large. Tell the people who run this address.",
  'service-unreadable/size-change':
    "The service's reply is too large. The change may have been made or not. Tell the people who run this address.",
  'service-unreadable/size-perhaps-done':
    "The service's reply is too large. It may have done what was asked: look before you send this again.",
  'service-unreadable/places': "The service's reply lacks {places}. Try again later.",
  'reply-doubtful': "The service's reply is not what was asked for: {fault}. Try again later.",
  'reply-doubtful/change':
    "The service's reply is not what was asked for: {fault}. The change may have been made or not; send it again.",
  'reply-doubtful/cancellation':
    "The service's reply is not what was asked for: {fault}. The shipment may not be canceled; cancel it again later.",
  'reply-doubtful/accepted':
    'The service accepted the request but has not confirmed that it is done. Read the shipment in a few minutes, before you send this again.',
  'service-unavailable': 'The service is not available. Try again later.{serviceSays}',
  'service-unavailable/proof':
    'The service does not say whether it accepts the credential; nothing was sent. Try again later.',
  'service-unavailable/approved':
    'The quote of this booking is approved, and the service does not say if it is a shipment already; nothing was sent. Send the booking again in a few seconds.',
  'outcome-unknown':
    'The outcome of this booking is not known, and it is not sent again. Do not book it again: give {key} to the people who run this address: they can settle it.',
  'outcome-unknown/under-way':
    'A booking with this reference is being sent, and its outcome is not known yet ({key}). Nothing was done. Send this again in a few seconds.',
  'outcome-unknown/approved':
    'The quote of this booking is approved, but its shipment may lack the details of the booking. Send the same booking again: it is not booked twice.',
  brownout:
    'This version-1 interface is being retired. It is switched off until {until} to find the callers that still need it; nothing was sent.{end} Move to version 2: {guide}.',
  retired: 'This version-1 interface ended on {since}; nothing was sent. Move to version 2: {guide}.',
  'circuit-open': 'The service keeps failing; nothing was sent. Try again in a few seconds.',
  overloaded: 'The gateway is overloaded. Try again in a second.',
  'overloaded/connections':
    'The gateway has no free connection to the service; nothing was sent. Try again in a second.',
  'overloaded/credentials': 'Too many credentials are being checked; nothing was sent. Try again in a few seconds.',
  draining: 'The gateway is shutting down. Try again in a few seconds.',
  'draining/booking': 'The gateway is shutting down, and this booking was not sent. Send it again.',
  interrupted: 'The gateway was interrupted before it sent the call; nothing was sent. Send the call again.',
  'store-down': 'The gateway cannot reach its store. Try again in a few seconds.',
  'service-silent': 'The service did not answer in time. Try again later.',
  'service-silent/change': 'The service did not answer in time. The change may have been made or not; send it again.',
  'service-silent/perhaps-done':
    'The service did not answer in time. It may have done what was asked: look before you send this again.',
} as const satisfies Partial<Readonly<Record<ErrorCode | `${ErrorCode}/${string}`, string>>>

export type MessageName = keyof typeof messages

type Placeholders<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholders<Rest>
  : never

/** The values that fill in a message. */
export type MessageValues<Name extends MessageName> = Readonly<
  Record<Placeholders<(typeof messages)[Name]>, string | number>
>

/** Returns a message of the table with its values filled in. */
export function messageText<Name extends MessageName>(name: Name, values: MessageValues<Name>): string {
  const filling = new Map<string, string | number>(Object.entries(values))
  return messages[name].replace(/\{(\w+)\}/g, (_, placeholder: string) => String(filling.get(placeholder) ?? ''))
}

/** Returns the service's own message for `{serviceSays}`; empty where its reply holds none. */
export const serviceSays = (message: string | undefined): string =>
  message === undefined ? '' : ` The service says: ${message}`
