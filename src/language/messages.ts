import type { ErrorCode } from './errors.ts'

/** Stands for `SUPPORT_CONTACT` in messages if that is not set. */
export const SUPPORT = 'the operator of this gateway'

/**
 * Error messages by code; if a code has several, `/` and a word follow it. `gatewayError` fills in `{name}`. `{serviceSays}` is the
 * service's own message, if its reply has one. `docs/wire.md` shows them all.
 */
export const messages = {
  'path-unreadable':
    'The path is malformed. Percent-encode it, without control characters. Under /v2/, do not use dot segments.',
  'body-unreadable/empty': 'The body is empty. Send JSON or name=value pairs in the body, not in the URL.',
  'body-unreadable/json': 'The body is not valid JSON: {fault}. Send a JSON object or name=value pairs.',
  'body-unreadable/form': 'The body is neither a JSON object nor name=value pairs. Send one of them.',
  'body-unreadable/multipart':
    'The body is not valid multipart/form-data: {fault}. Send a JSON object or name=value pairs.',
  'body-unreadable/encoding': 'The Content-Encoding is not supported. Send gzip, deflate, or a plain body.',
  'body-unreadable/compression':
    'The body does not match its Content-Encoding. Send the whole compressed body, or send it plain.',
  'body-unreadable/incomplete': 'The connection closed before the whole body arrived. Send the request again.',
  'body-unreadable/chunks': 'The body arrived in chunks that are too small. Send larger chunks.',
  'body-unreadable/event': 'The body is not an event. Send a JSON object with shipment_id, event_date, and data.',
  'event-unreadable': 'The event {fault}. Send a JSON object.',
  'caller-gone': 'The caller closed the connection, so nothing was sent.',
  'credential-missing': 'No credential was sent. Use HTTP Basic authentication with your Client ID and Client Secret.',
  'credential-missing/unreadable':
    'The Authorization header must use HTTP Basic: "Basic " followed by the Base64 of ClientID:ClientSecret.',
  'credential-missing/no-pair':
    'The Basic credential is not valid Base64 of ClientID:ClientSecret. Encode both together.',
  'credential-missing/control-character':
    'The Client ID contains a control character, such as a line break. Send the Client ID exactly as you received it.',
  'credential-wrong': 'The Client ID or the Client Secret is wrong. Check both.',
  'login-refused':
    'The service rejected this credential, so nothing was sent. Check the Client ID and the Client Secret.{serviceSays}',
  'signature-wrong': "The event's signature is {fault}. Sign it as Standard Webhooks specifies.",
  'token-not-given': 'This gateway does not issue tokens. Call it without one; it authenticates to the service itself.',
  'origin-foreign':
    'Web pages from other sites cannot call this gateway. If the page is your own, add its origin to ALLOWED_HOSTS.',
  'host-unknown': 'Host name {name} is not allowed. Add it to ALLOWED_HOSTS.',
  'path-unknown': 'Unknown path. The legacy paths are {paths}.',
  'path-unknown/admin': 'Unknown path.',
  'path-unknown/booking': 'No booking has this key.',
  'path-unknown/stored-event': 'No event has this id.',
  'path-unknown/tenant': 'No tenant has this name.',
  'path-unknown/check':
    'This gateway has no check of yours from the last 15 minutes. Point your program at /check instead of the service, and run it.',
  'path-unknown/action': 'Unknown action. The actions are {actions}.',
  'path-unknown/event': 'No callback is declared for this event.',
  'path-unknown/version-2': 'No version-2 endpoint matches this path. Call the version-2 API directly.',
  'number-unknown': 'No {kind} found for {names}. Check the number.',
  'number-unknown/vin': 'This number has no vehicle with VinNo {vin}. Its vehicles are {vins}. Check the VIN.',
  'number-unknown/no-id': 'This cannot be an id. Check the number.',
  'method-wrong': 'Use {methods} for this path.',
  'numbers-disagree':
    'The fields name different {kind}s, so nothing was sent: {meanings}. Send only the number of the {kind} that you mean.',
  'several-matches': 'This number means several vehicles, so nothing was sent. Send one of these as VinNo: {vins}.',
  'several-matches/vin':
    'VinNo {vin} does not select one vehicle under this number, so nothing was sent. Its vehicles are {vins}. Send one of these as VinNo.',
  'several-matches/cancel':
    'No shipment under this number has VinNo {vin} as its only vehicle, so nothing was canceled. The vehicles under this number are {vins}. To cancel a shipment of several vehicles, send its number without a VinNo.',
  'booking-conflict':
    'This reference is already booked with different details, so nothing was sent. To change the shipment, call /updateShipment.php (booking {key}).',
  'booking-conflict/under-way':
    'Another booking with this reference is in progress, so this one was not sent. Wait for its result before you use another reference (booking {key}).',
  'booking-conflict/number':
    'This vehicle may be booked already, as shipment {id}, so nothing was sent. To change that, call /updateShipment.php; for another vehicle, send its VinNo.',
  'booking-conflict/vin':
    'A vehicle with VinNo {vin} was booked under this reference before ({key}), so nothing was changed. Check the VIN.',
  'booking-under-way': 'This booking is already in progress ({key}). Send it again in a few seconds to get the result.',
  'booking-under-way/quote':
    'Another booking of this quote has no result yet ({key}), so this one was not sent. Send it again later.',
  'booking-under-way/approval':
    "The booking's quote is still being approved, so nothing was sent. Send the booking again in a few seconds.",
  'shipment-changed': 'The shipment kept changing while it was being updated. Send the same request again.',
  'shipment-changed/under-way':
    'Other requests for this shipment or quote are in progress, so nothing was sent. Send the same request again.',
  'body-too-large': 'The body is larger than {bytes} bytes. Send a smaller one.',
  'too-many-fields': 'The body has more than {fields} fields. Leave out the fields that you do not need.',
  'action-unknown': 'Unknown ActionName{name}. {path} accepts {names}.',
  'generations-mixed':
    'The body mixes version 1 (such as {version1}) and version 2 (such as {version2}). Send only one version.',
  'number-missing': "The body has no id. Send the {kind}'s id.",
  untranslatable: '{problems}',
  'untranslatable/blank': 'Nothing was changed: {problems}.',
  'too-many-calls': 'This account is sending too many requests. Send fewer, or try again in {seconds} s.',
  'too-many-calls/source':
    'Too many requests from this address are in progress. Send fewer at once, or try again in 1 s.',
  'too-many-calls/secrets':
    'Too many wrong credentials came from this address. Check the Client ID and the Client Secret, and wait a minute.',
  'too-many-calls/credentials':
    'Too many credentials from this address are being checked, so nothing was sent. Try again in a few seconds.',
  'gateway-failed':
    'The gateway hit an internal error. Contact the operator of this gateway with the X-Request-Id header of this response.',
  'login-failed': 'The service did not issue a token, so nothing was sent. Try again later.{serviceSays}',
  'login-failed/unreadable': 'The service returned an invalid token, so nothing was sent. Try again later.',
  'login-failed/unreachable': 'The service cannot be reached for a token, so nothing was sent. Try again later.',
  'login-failed/silent': 'The service did not issue a token in time, so nothing was sent. Try again later.',
  'service-refused': 'The service rejected this request.{serviceSays}',
  'service-refused/not-served':
    'The service does not support this operation, so nothing was done. Contact the operator of this gateway.',
  'service-refused/401':
    'The service rejected this credential. Check the Client ID and the Client Secret.{serviceSays}',
  'service-refused/403': 'This credential is not allowed to do this.{serviceSays}',
  'service-refused/404': 'The service has no record with this number. Check the number.{serviceSays}',
  'service-refused/429': 'The service is limiting requests. Try again later.{serviceSays}',
  'service-refused/canceled': "This quote's shipment was canceled. Get a new quote, or book without one.",
  'service-failed': 'The service failed (status {status}). Try again later.{serviceSays}',
  'service-failed/redirect':
    'The service answered with a redirect (status {status}), which the gateway does not follow. Contact the operator of this gateway.',
  'service-failed/lost': 'Lost the connection to the service before it answered. Try again.',
  'service-failed/perhaps-done':
    'Lost the connection to the service before it answered. It may have completed the request. Read the record before you send this again.',
  'service-failed/change':
    'Lost the connection to the service before it answered. It is not known whether the change was made. It is safe to send it again.',
  'service-unreachable': 'The service cannot be reached, so nothing was sent. Try again later.',
  'service-unreadable/json': "The service's reply is not valid JSON. Try again later.",
  'service-unreadable/json-change':
    "The service's reply is not valid JSON. It is not known whether the change was made. It is safe to send it again.",
  'service-unreadable/size': "The service's reply is too large. Contact the operator of this gateway.",
  'service-unreadable/size-change':
    "The service's reply is too large. It is not known whether the change was made. Contact the operator of this gateway.",
  'service-unreadable/size-perhaps-done':
    "The service's reply is too large. It may have completed the request. Read the record before you send this again.",
  'service-unreadable/places': "The service's reply lacks {places}. Try again later.",
  'reply-doubtful': "The service's reply does not match the request: {fault}. Try again later.",
  'reply-doubtful/change':
    "The service's reply does not match the request: {fault}. It is not known whether the change was made. It is safe to send it again.",
  'reply-doubtful/cancellation':
    "The service's reply does not match the request: {fault}. The shipment may not be canceled. Cancel it again later.",
  'reply-doubtful/part':
    "The service does not show the shipment's {part}. An update might delete it, so nothing was changed. Contact the operator of this gateway.",
  'reply-doubtful/accepted':
    'The service accepted the request but has not confirmed that it is done. Read the shipment in a few minutes, before you send this again.',
  'service-unavailable': 'The service is unavailable. Try again later.{serviceSays}',
  'service-unavailable/proof': 'The service did not confirm your credential, so nothing was sent. Try again later.',
  'service-unavailable/approved':
    "The booking's quote is approved, but the service did not confirm whether a shipment exists, so nothing was sent. Send the booking again in a few seconds.",
  'service-unavailable/approved-part':
    "The booking's quote is approved, but the service does not show all of its shipment, so nothing was sent. Do not rebook it; contact the operator of this gateway.",
  'outcome-unknown':
    'It is not known whether this booking was made. It will not be sent again. Do not rebook it; contact the operator of this gateway and give them {key}.',
  'outcome-unknown/under-way':
    'A booking with this reference is being sent, and its outcome is not known yet ({key}). Nothing was done. Send this again in a few seconds.',
  'outcome-unknown/vehicle':
    "This shipment's booking is not settled yet, so its vehicle cannot be changed. Nothing was changed. Contact the operator of this gateway and give them {key}.",
  'outcome-unknown/approved':
    'The shipment is booked, but some details may be missing. Send the same booking again to add them; it will not be booked twice.',
  brownout:
    'Version 1 is being retired and is switched off until {until} as a test. Nothing was sent.{end} Move to version 2: {guide}.',
  retired: 'Version 1 ended on {since}, so nothing was sent. Move to version 2: {guide}.',
  'circuit-open': 'The service is failing, so nothing was sent. Try again in 5 s.',
  overloaded: 'The gateway is overloaded, so nothing was sent. Try again in 1 s.',
  'overloaded/connections': 'The gateway has no free connection to the service, so nothing was sent. Try again in 1 s.',
  'overloaded/credentials': 'Too many credentials are being checked, so nothing was sent. Try again in a few seconds.',
  draining: 'The gateway is shutting down. Try again in a few seconds.',
  'draining/booking': 'The gateway is shutting down, so this booking was not sent. Send it again.',
  interrupted: 'The gateway was interrupted before it sent the request, so nothing was sent. Send the request again.',
  'store-down': "The gateway's database is unavailable. Try again in a few seconds.",
  'service-silent': 'The service did not answer in time. Try again later.',
  'service-silent/change':
    'The service did not answer in time. It is not known whether the change was made. It is safe to send it again.',
  'service-silent/perhaps-done':
    'The service did not answer in time. It may have completed the request. Read the record before you send this again.',
} as const satisfies Partial<Readonly<Record<ErrorCode | `${ErrorCode}/${string}`, string>>>

export type MessageName = keyof typeof messages

type Placeholders<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholders<Rest>
  : never

/** The values that fill in a message. */
export type MessageValues<Name extends MessageName> = Readonly<
  Record<Placeholders<(typeof messages)[Name]>, string | number>
>

/** Returns a message from the table with its values filled in. */
export function messageText<Name extends MessageName>(name: Name, values: MessageValues<Name>): string {
  const filling = new Map<string, string | number>(Object.entries(values))
  return messages[name].replace(/\{(\w+)\}/g, (_, placeholder: string) => String(filling.get(placeholder) ?? ''))
}

/** Returns the service's own message for `{serviceSays}`; empty if its reply has none. */
export const serviceSays = (message: string | undefined): string =>
  message === undefined ? '' : ` The service says: ${message}`
