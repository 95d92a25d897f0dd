/*
 * Every statement of the service's interface document, in the order of the document, with the tests that prove that the
 * gateway follows it. `npm run docs` makes docs/interface.md of it, and fails if a test or a page is not there.
 */

/**
 * A proof is one of:
 * - `calls/check > a right program is called right`: a test file in `test/`, and a title in it, or a part of one title alone. Where the
 *   title is that of a table of tests, ` > ` and the words of a row may follow;
 * - `cases/quote.get/open-auto-is-open`: a case file in `test/cases/`;
 * - `assumption > quote-by-post`: what `transload certify assumptions` asks the service itself;
 * - `docs/migrating.md > two months before`: a page, and words in it, for statements that only people can follow.
 */
export type Proof = `${string} > ${string}` | `cases/${string}`

/** A statement of the document. */
export interface Statement {
  /** In words of our own. */
  readonly states: string
  /** Our choice, where the document shows nothing or leaves two ways. */
  readonly chosen?: string
  readonly proofs: readonly Proof[]
}

/** A section of the document. */
export interface Section {
  readonly title: string
  readonly statements: readonly Statement[]
}

const shown = (states: string, ...proofs: readonly Proof[]): Statement => ({ states, proofs })
const chose = (states: string, chosen: string, ...proofs: readonly Proof[]): Statement => ({ states, chosen, proofs })
const section = (title: string, ...statements: readonly Statement[]): Section => ({ title, statements })

const BACK = 'cases/shipment.update/every-place-that-a-booking-lacks-goes-back'
const EVERY_MEMBER = 'calls/check > a right program is called right'
const SET_BY_SERVICE = 'calls/check > what only the service sets is wrong in a booking'
const DOCUMENTED = 'service/drift > a reply as documented is no news'
const NEWS = 'service/drift > what is new is passed on as it is'
const BOOKING = 'cases/shipment.create/every-documented-field'
const READING = 'cases/shipment.get/every-documented-field'
const QUOTE = 'cases/quote.get/every-documented-field'
const REPLIES = 'doubt/replies > replies and what follows from them'

export const sections: readonly Section[] = [
  section(
    'What the service does',
    shown(
      'A client gets a price for a trip, changes the quote and approves it.',
      'cases/stories/a-trip-is-quoted-changed-approved-and-read',
    ),
    shown(
      'A client creates, reads, updates and cancels a shipment.',
      'cases/stories/a-quote-is-booked-read-by-all-its-names-changed-and-canceled',
    ),
    shown(
      'A shipment has one or more vehicles. (A version-1 booking has one.)',
      'cases/shipment.create/a-list-of-vehicles-is-a-problem',
      'cases/shipment.get/reply-of-several-vehicles-shows-the-first',
    ),
    shown(
      'Webhooks report what happens to a shipment.',
      'events/delivered > the caller of a booking hears of its shipment',
    ),
    shown(
      'Version 2 has paths below `/v2` and a new shape; version 1 has PHP-style paths and flat bodies.',
      'service/spelling > %s takes a shipment through its life',
      'http/routes > is served in every spelling',
    ),
    shown(
      'A version-1 body gets a version-1 reply, and no other body does.',
      'cases/stories/a-version-2-body-or-path-gets-problem-details',
      'cases/stories/a-version-2-quote-on-a-legacy-path-has-a-reply-of-version-2',
    ),
    chose(
      'The version-2 service still parses version-1 bodies.',
      'The gateway does not rely on it: it translates each call. Below `/v2/`, such a body passes through unchanged.',
      'calls/pass-through > with a body of version 1 is the business of the service',
    ),
    shown(
      'All bodies are JSON, with `Content-Type: application/json`.',
      'service/spelling > %s takes a shipment through its life',
      'cases/stories/json-and-forms-are-read-under-any-label',
    ),
  ),
  section(
    'Quote',
    shown(
      '`shipment_id` is a string, a UUID.',
      'cases/stories/a-trip-is-quoted-changed-approved-and-read',
      'text/service-text > can always stand in a path and in a header',
      'assumption > quote-id-is-uuid',
    ),
    shown(
      '`price` is a number.',
      'cases/quote.get/reply-price-has-two-digits',
      'cases/quote.get/reply-without-a-price-is-unreadable',
      'assumption > price-is-number',
    ),
    chose(
      'Other fields of a quote: not shown.',
      'Ignored. The log names each once.',
      'cases/quote.get/reply-with-more-than-is-known',
      NEWS,
    ),
    shown(
      '`pickup` and `delivery` of a request are postal codes, as strings.',
      'cases/quote.get/two-postal-codes-are-enough',
      'cases/quote.get/four-digits-get-their-zero-back',
      'assumption > quote-zip-leading-zero',
    ),
    shown(
      '`vehicle_type` is a type such as `car`.',
      'cases/quote.get/vehicle-type-from-the-pickup-code',
      'cases/quote.get/no-word-that-is-known-is-a-car',
    ),
    shown(
      '`transport_type` is `open`, or `enclosed`.',
      'cases/quote.get/open-auto-is-open',
      'cases/quote.get/enclosed-auto-is-enclosed',
    ),
  ),
  section(
    'Shipment',
    shown(
      'Request and response have one nested shape. The response adds what only the service sets.',
      EVERY_MEMBER,
      SET_BY_SERVICE,
      'calls/sent-back > what a read showed and is sent back changes nothing',
    ),
    shown(
      '`id`: a UUID, in responses only.',
      `${REPLIES} > an id of dots`,
      SET_BY_SERVICE,
      'assumption > booking-returns-id',
    ),
    shown(
      '`number`: text for people, in responses only.',
      'cases/shipment.create/reply-names-the-services-number',
      'cases/shipment.create/reply-without-a-number-names-the-id',
    ),
    shown('`status`: text, in responses only.', READING, 'cases/shipment.get/reply-without-a-status'),
    shown('`price`: a number, in responses only.', READING, 'bookings/price > two prices that differ as two digits'),
    shown(
      '`vehicles`: a list of one or more, both ways.',
      'cases/shipment.create/no-vehicle-is-a-problem',
      'cases/shipment.update/the-vehicle-that-the-vin-means',
      'assumption > vehicles-in-order',
    ),
    chose(
      'In responses only: the numbers `distance` and `distance_meters`, and the list `documents`.',
      'Version 1 has no field for them. An update leaves them out.',
      DOCUMENTED,
      BACK,
    ),
    shown(
      '`transport_type`: `open` or `enclosed`, both ways.',
      'cases/shipment.create/the-operators-default-transport',
      READING,
      'assumption > transport-type-unchanged',
    ),
    chose(
      '`instructions`: free text about the whole shipment, both ways.',
      'Version 1 has instructions only for pickup and delivery. An update sends the text back.',
      BACK,
    ),
    chose(
      "`external_id`: the client's own identifier, both ways. An example calls it unique.",
      'One reference may have several vehicles, each a shipment.',
      BOOKING,
      'bookings/once > a key is the client, and its Idempotency-Key',
      'names/laws > every call of every small world means what the laws say',
      'assumption > external-id-twice',
    ),
  ),
  section(
    'Customer',
    shown(
      '`customer_name`: text.',
      BOOKING,
      'cases/shipment.create/a-remembered-company-is-the-customer',
      'cases/shipment.create/no-customer-is-a-problem',
    ),
    shown(
      '`address`, `city`, `state` of two letters, `zipcode` as an integer of five digits.',
      'cases/shipment.create/a-remembered-quote-fills-what-a-booking-lacks',
      'cases/shipment.create/a-remembered-state-that-is-none-is-left-out',
    ),
    shown(
      '`email`, `contact_name`, `contact_email`: text; `phone`, `contact_phone`: digits.',
      BOOKING,
      'cases/shipment.create/billto-phone-is-digits',
      'cases/shipment.create/a-remembered-quote-fills-what-a-booking-lacks',
    ),
  ),
  section(
    'Pickup and delivery',
    shown(
      '`location_name` and `contact_name`: text.',
      'cases/shipment.create/pickup-name-is-the-place-and-the-person',
      'cases/shipment.create/delivery-name-is-the-place-and-the-person',
      'cases/stories/the-names-of-a-place-and-of-a-person-survive-an-update-of-something-else',
    ),
    chose(
      '`location_type`, and `customer_type` of a customer: text such as `DEALER`.',
      'Version 1 has no field for them. An update sends them back.',
      BACK,
      EVERY_MEMBER,
    ),
    shown(
      '`address`, `city`, `state`: text.',
      BOOKING,
      'cases/shipment.create/states-become-upper-case',
      'cases/shipment.create/full-names-of-states-are-understood',
    ),
    shown(
      '`zipcode`: an integer.',
      'cases/shipment.create/pickup-zip-becomes-an-integer',
      'cases/shipment.create/delivery-zip-becomes-an-integer',
      'cases/shipment.get/reply-zips-get-their-zeros-back',
      'assumption > zip-is-integer',
    ),
    shown(
      '`contact_email`, `contact_phone`, `notes`: text.',
      BOOKING,
      'cases/shipment.create/pickup-phone-is-digits',
      'cases/shipment.create/delivery-phone-is-digits',
    ),
    chose(
      'Each has four date-times, such as `available_pickup_dttm` and `preferred_delivery_dttm`.',
      'Version 1 has no fields for them. An update sends them back as they were.',
      BACK,
      DOCUMENTED,
    ),
    shown(
      'Date-times are ISO 8601, with or without milliseconds. The offset has no colon.',
      DOCUMENTED,
      'calls/check > a mistake of new code is found',
      'assumption > date-form',
    ),
  ),
  section(
    'Vehicle, photo, document',
    shown(
      "A vehicle's `id`: a UUID, in responses only. (An update has to send it back.)",
      BACK,
      'cases/shipment.update/ids-of-other-parts-are-kept',
      'assumption > vehicle-with-id-stays',
    ),
    shown(
      '`vin`: text.',
      'cases/shipment.create/a-vin-becomes-upper-case-without-blanks',
      'cases/shipment.create/an-old-vin-is-passed-on',
    ),
    shown(
      '`year`: an integer; `make`, `model`: text.',
      BOOKING,
      'cases/shipment.create/a-year-of-two-digits-is-a-problem',
    ),
    shown(
      '`type`: text such as `van`.',
      'cases/shipment.create/a-make-with-its-model-says-the-kind-of-vehicle',
      'cases/shipment.create/what-a-booking-says-of-its-vehicle-comes-before-the-model',
    ),
    chose(
      '`trim`, `notes`: text; `is_modified`, `is_inoperable`: booleans.',
      'Version 1 has no fields for them. An update sends them back.',
      BACK,
      EVERY_MEMBER,
    ),
    chose(
      'In responses only: the numbers `weight`, `height`, `width` and `length`, and the list `photos`.',
      'Version 1 has no fields for them. An update leaves them out.',
      BACK,
      SET_BY_SERVICE,
    ),
    chose(
      'A photo has `id`, `type`, `url`, `latitude`, `longitude`, `created_dttm`; a document has `id`, `type`, `url`.',
      'Version 1 has no fields for them. Below `/v2/` they pass through.',
      DOCUMENTED,
      'calls/pass-through > keeps its status, its headers and every byte of its body',
    ),
  ),
  section(
    'Gaps in the resources',
    chose(
      'Required fields: not shown.',
      'Both places, a customer, and a VIN or year, make and model. One response lists everything that is missing.',
      'cases/shipment.create/the-least-that-books',
      'cases/shipment.create/every-problem-at-once',
      'assumption > minimal-booking',
    ),
    chose(
      'Complete lists of values: not shown.',
      'The lists of the public reference. Any other value is passed on.',
      DOCUMENTED,
      NEWS,
    ),
    chose(
      'Meaning and constraints of the date-times: not shown.',
      'The gateway sets, changes and compares none.',
      BACK,
      'assumption > date-offset-obeyed',
    ),
    chose(
      'Units of weight, sizes and distance: not shown.',
      'Nothing is converted. No value reaches a version-1 reply.',
      DOCUMENTED,
    ),
  ),
  section(
    'Version-1 quote',
    shown(
      '`ActionName`, such as `Get Rate`.',
      'cases/quote.get/an-action-name-in-other-spelling',
      'cases/quote.get/an-unknown-action-name-is-refused',
    ),
    shown(
      '`ShipmentNumber`, `OrderRefNumber`: names of the quote.',
      'cases/quote.get/the-callers-own-number-comes-back',
      'cases/quote.update/named-by-the-order-reference',
    ),
    shown(
      '`EquipmentType`: `OPEN AUTO` or `ENCLOSED AUTO`.',
      'cases/quote.get/equipment-in-any-case',
      'cases/quote.get/equipment-of-another-kind-is-a-problem',
    ),
    shown(
      '`PickupCommodityCode`, `DeliveryCommodityCode`, `LoadReference`: words about the vehicle.',
      'cases/quote.get/vehicle-type-from-the-pickup-code',
      'cases/quote.get/vehicle-type-from-the-delivery-code',
      'cases/quote.get/vehicle-type-from-words-of-the-load',
    ),
    shown(
      '`TempShipFrom…` and `TempShipTo…`: country, streets, city, state, postal code. (Version 2 prices by postal codes.)',
      QUOTE,
      'cases/quote.get/no-origin-is-a-problem',
      'cases/quote.get/no-destination-is-a-problem',
    ),
    chose(
      '`CSR`: text.',
      'Version 2 has no place for it. The response lists it as ignored.',
      QUOTE,
      'cases/stories/an-answer-says-in-a-header-which-fields-had-no-place',
    ),
    shown(
      '`BillToCompany`, which may be empty, and the `BillTo…` fields of the address.',
      'cases/shipment.create/a-remembered-company-is-the-customer',
      'cases/shipment.create/a-quote-without-a-customer-names-none',
      'cases/shipment.create/a-remembered-quote-fills-what-a-booking-lacks',
    ),
    shown(
      '`BillToContact`: parts joined by `~`, some of them empty.',
      'cases/shipment.create/a-remembered-contact-is-the-customer',
      'cases/shipment.create/remembered-contact-parts-in-another-order',
    ),
    shown(
      'The response has `Cost`, a decimal amount as a string, and `ShipmentNumber`.',
      'cases/quote.get/reply-price-has-two-digits',
      'cases/quote.get/reply-price-is-rounded-half-up',
      'cases/quote.get/the-callers-own-number-comes-back',
    ),
  ),
  section(
    'Version-1 booking',
    shown(
      '`ActionName`, such as `MakeBooking`.',
      'cases/shipment.create/make-booking-at-confirm-booking',
      'cases/shipment.create/an-unknown-action-name-is-refused',
    ),
    shown(
      '`ReferenceNumber`; `Pickup…` and `Delivery…`: address, city, state, ZIP, name, e-mail address, instruction.',
      BOOKING,
      READING,
    ),
    shown(
      '`PickupPhNo.`, `DeliveryPhNo.`, `BillToPhNo.`: the names end with a period.',
      BOOKING,
      'cases/shipment.create/phone-fields-as-php-writes-them',
      'cases/shipment.create/phone-fields-without-their-period',
    ),
    shown(
      '`BillToName`, `BillToEmailAddress`; `Year`, `Make`, `Model`, `VinNo`: text.',
      BOOKING,
      READING,
      'cases/shipment.create/cities-and-year-make-model-will-do',
    ),
    shown(
      'The response has `Message` and `TransportationBooked`, such as `Yes`.',
      'cases/stories/a-quote-is-booked-read-by-all-its-names-changed-and-canceled',
      'cases/stories/a-mistake-of-a-caller-has-the-shape-of-its-path',
    ),
  ),
  section(
    'States',
    shown(
      'A new shipment has the status `new`.',
      'cases/stories/a-trip-is-quoted-changed-approved-and-read',
      `${REPLIES} > status canceled`,
    ),
    chose(
      'Other transitions: not shown.',
      'The gateway expects none. Only `canceled` changes a response: `TransportationBooked` is `No`.',
      'cases/shipment.get/reply-of-a-canceled-shipment',
      'cases/stories/an-update-says-by-the-status-if-the-transportation-is-booked',
    ),
    chose(
      'All values of the status: not shown.',
      'Any value is shown unchanged.',
      NEWS,
      'cases/shipment.get/reply-with-a-status-that-is-not-documented',
    ),
  ),
  section(
    'Version-2 endpoints',
    shown(
      'Every request has `Authorization: Basic`.',
      'service/spelling > %s takes a shipment through its life',
      "callers/modes > every call goes out with the caller's own credential",
    ),
    shown(
      'Paths are below the base address of production or stage.',
      'calls/pass-through > goes below the path prefix of the service',
      'callers/modes > a tenant may have another address of the service',
    ),
    chose(
      '`POST /v2/quote` gets a quote; its body: not shown.',
      'The four fields of the query, as JSON.',
      QUOTE,
      'assumption > quote-by-post',
    ),
    shown(
      '`GET /v2/quote` gets a quote: a query, no body.',
      'service/spelling > a quote by query has no body',
      'cases/quote.get/as-a-query-where-the-service-wants-it',
      'assumption > quote-by-get',
    ),
    chose(
      'Which of the two the service accepts: not shown.',
      '`V2_QUOTE_METHOD`. By default `POST`, and the other after 404 or 405.',
      'service/spelling > %s asks a service that speaks %s by %j',
      'service/spelling > auto changes over again when the service does',
    ),
    chose(
      '`PUT /v2/quote/{quote_id}`; its body and reply: not shown.',
      'The whole trip, as changed. If the reply has no price, `Message` says so.',
      'cases/quote.update/what-is-sent-over-what-the-quote-was-made-with',
      'cases/quote.update/reply-without-a-body-says-so',
      'assumption > quote-update-keeps-id',
    ),
    chose(
      '`POST /v2/quote/{quote_id}/approve`; its body and reply: not shown.',
      'An empty object. The quote counts as booked only if the service shows a shipment.',
      'cases/quote.approve/approve-quote-sends-an-empty-object',
      'cases/quote.approve/reply-that-speaks-of-no-shipment',
      'bookings/approved > approved %s, then booked is one shipment',
      'assumption > approve-takes-empty-object',
    ),
    shown(
      '`{quote_id}` is a string.',
      'cases/quote.get/reply-id-as-a-long-number',
      'cases/stories/an-odd-id-of-the-service-stays-one-segment-of-a-path',
    ),
    shown(
      '`POST /v2/shipments` creates a shipment and returns all of it. (The public reference adds `quote_id`.)',
      BOOKING,
      'cases/shipment.create/a-quote-id-only-where-the-operator-wants-it',
      `${REPLIES} > no id`,
      DOCUMENTED,
    ),
    chose(
      '`GET /v2/shipments/{shipment_id}`; its reply: not shown.',
      'The same shape as after a creation, with the requested id.',
      READING,
      `${REPLIES} > another id`,
      'assumption > read-is-shipment',
    ),
    chose(
      '`PUT /v2/shipments/{shipment_id}`; its body and reply: not shown.',
      'The shipment as read, with the changes. Any reply that does not contradict it is accepted.',
      'cases/shipment.update/one-field-changes-one-place',
      `${REPLIES} > success: false`,
      'assumption > update-takes-whole',
    ),
    chose(
      '`DELETE /v2/shipments/{shipment_id}`; its reply and the status: not shown.',
      'A read afterward must show `canceled`, or no shipment.',
      `${REPLIES} > status in_transit`,
      'cases/shipment.cancel/reply-without-a-body',
      'assumption > canceled-is-shown',
    ),
    chose(
      'The four operations are shown at both `/v2/shipment` and `/v2/shipments`.',
      '`V2_SHIPMENT_PATH`. By default the plural, and the other after 404 or 405.',
      'service/spelling > %s takes a shipment through its life',
      'bookings/canceled > as %s, by what a read shows',
      'assumption > shipment-singular',
    ),
    chose(
      'Status codes of success: not shown.',
      'Any 2xx with a reply that proves it.',
      `${REPLIES} > the thing itself, 299`,
    ),
  ),
  section(
    'Version-1 endpoints',
    shown(
      '`POST /getShippingQuote.php` gets, updates and approves a quote; `POST /getShippingQuoteWTS.php` gets one.',
      'cases/stories/a-trip-is-quoted-changed-approved-and-read',
      'cases/stories/an-ActionName-is-compared-without-case-blanks-underscores-and-dashes',
    ),
    shown(
      '`POST /createShipment.php` and `POST /ConfirmBooking` create a shipment.',
      BOOKING,
      'cases/shipment.create/make-booking-at-confirm-booking',
    ),
    shown(
      '`GET /getShipment.php` reads a shipment.',
      'cases/stories/a-quote-is-booked-read-by-all-its-names-changed-and-canceled',
      'cases/stories/a-query-is-read-like-a-form',
    ),
    shown(
      '`POST /updateShipment.php` updates a shipment, `POST /deleteShipment.php` cancels it.',
      'cases/shipment.update/every-documented-field',
      'cases/shipment.cancel/named-by-reference',
    ),
    chose(
      'Bodies of reads, updates and cancels: not shown.',
      'The fields of a booking; any name of the shipment.',
      'cases/shipment.get/every-field-that-a-caller-has',
      'cases/shipment.cancel/every-name-of-a-shipment',
    ),
    chose(
      'The paths are on the version-1 host.',
      'The gateway takes its place, with each path under each of `LEGACY_BASE_PATHS`.',
      'http/routes > takes its method alone, and says so in Allow',
      'http/routes > is under each of LEGACY_BASE_PATHS and nowhere else',
    ),
  ),
  section(
    'Authentication',
    shown(
      'Basic: Base64 of Client ID, a colon and Client Secret, on every request.',
      'callers/modes > a credential that is of no use is refused',
      "callers/modes > every call goes out with the gateway's own credential",
      'assumption > basic-accepted',
    ),
    shown(
      'The operator issues the pair on request. A request names the company, a contact, services in use and the purpose.',
      'docs/migrating.md > Give your company, contact details',
    ),
    shown(
      '`POST /oauth2/token`: a form with `grant_type=client_credentials`, and the pair as Basic.',
      'service/tokens > the exchange is made as the interface says',
    ),
    chose(
      'The token response: not shown.',
      'As in RFC 6749: `access_token`, and `expires_in` or five minutes.',
      'service/tokens > a token lives on however its life is told: %s',
      'service/tokens > a token endpoint that %s is told in the shape of version 1',
      'assumption > token-given',
    ),
    chose(
      'OAuth 2.0 is planned but not in effect. The same pair will get tokens.',
      '`V2_TOKEN`, which is `basic` by default. With `auto`, no call fails on the day of the switch.',
      'service/basic-or-tokens > the day of the switch costs no call',
      'docs/migrating.md > OAuth 2.0 is announced: the same pair will get a token',
      'assumption > challenge',
    ),
    chose(
      'Authentication of webhooks: not shown.',
      'A secret in the path, and signatures if the operator sets a key.',
      'events/received > a wrong secret is answered like any other unknown path',
      'events/received > an event that is not signed as it must be is refused',
    ),
  ),
  section(
    'Events',
    shown('There are nine kinds of event.', 'events/received > the nine events and an unknown one are stored'),
    chose(
      'Payloads: not shown.',
      'Those of the public reference. Any other shape is stored and parked.',
      'cases/stories/a-dry-run-of-an-event-shows-what-a-callback-would-get',
      'events/received > an event of another shape is kept',
    ),
    chose(
      'Registration, delivery and retries: not shown. (The public reference: five retries, a minute apart.)',
      'The operator registers the address. The gateway responds once an event is stored, and recognizes copies.',
      'events/received > an event is answered once it is durable',
      'events/received > a copy is a duplicate',
    ),
    chose(
      'Which operation emits which event: not shown.',
      'The gateway waits for none. After an event, it reads the shipment, and settles or frees its booking.',
      'events/healed > a booking that times out, whose event comes first, is healed',
      'events/healed > what cannot be decided stays unknown',
    ),
  ),
  section(
    'Errors',
    shown(
      'Since January 1, 2026, the version-1 host answers every request with 404.',
      'http/routes > Deprecation is on every reply of a legacy path',
      'docs/migrating.md > The old host has returned 404 for every request since January 1, 2026.',
    ),
    chose(
      'The body of an error: not shown.',
      "The gateway finds the service's message in any usual form, and passes it on.",
      'cases/stories/the-services-own-words-are-found-in-every-usual-shape',
      'cases/stories/the-services-own-words-are-not-looked-for-in-pages-in-halves-or-too-deep',
    ),
    chose(
      'Invalid credentials: not shown.',
      'A credential is good if a read gets 404, 410, or 2xx with a JSON object, and wrong after 401 or 403. Anything else proves nothing.',
      'callers/proof > is accepted by an answer %i to that read',
      'callers/proof > that is forbidden gets 403',
      'callers/proof > claims, finds and sends nothing: %s',
      'assumption > wrong-secret-401',
    ),
    chose(
      'Invalid input: not shown.',
      'A 4xx means that nothing was done. Its status and message are passed on.',
      'cases/stories/a-refusal-of-a-booking-keeps-its-status-and-its-words',
      'bookings/once > with BOOKING_REFUSED_STATUSES=%s',
      'assumption > invalid-quote-4xx',
    ),
    chose(
      'Unknown identifiers: not shown.',
      '404 and 410, once the path is confirmed. For a number that is not a UUID, also 400, 405 and 422.',
      'service/spelling > means the id once a spelling is confirmed: %s',
      'cases/stories/the-next-name-is-tried-where-the-service-does-not-know-one',
      'assumption > unknown-shipment-404',
    ),
  ),
  section(
    'Limits',
    chose(
      'Rate limits: not shown.',
      'A 429 is passed on with its `Retry-After`. Tenants may have limits of their own.',
      'cases/stories/a-failure-of-the-service-at-a-quote-is-told-as-what-it-is',
      'callers/modes > a tenant has so many calls a second',
      'assumption > reads-in-a-row',
    ),
    chose(
      'Size limits: not shown.',
      '256 KiB for a body, unless `BODY_LIMIT_BYTES` says otherwise.',
      'calls/request-bodies > a body of 256 KiB passes, one byte more is 413',
      'assumption > body-256-kib',
    ),
    chose(
      'Time-outs: not shown.',
      '`UPSTREAM_TIMEOUT_MS`. A booking without an answer is unknown, and never sent again.',
      'service/replies > the deadline is not prolonged by informational replies',
      'bookings/once > an unknown key is never sent again',
    ),
    chose(
      'Page sizes: not shown.',
      'The gateway asks for no lists.',
      'service/spelling > each request is counted by its operation',
    ),
  ),
  section(
    'Versioning',
    shown(
      'The current version is 2.0.0; its paths start with `/v2`.',
      'pages/workbench > the guide has each step of a move',
      'service/spelling > %s takes a shipment through its life',
      'calls/pass-through > that could leave /v2/',
    ),
    shown(
      'Production has a new host. The stage is for tests.',
      'operations/configuration > %j > V2_BASE_URL is required: set it to the address of the service',
      'docs/certainty.md > so a stage command cannot book in production',
      'commands/certify-assumptions > a plan sends nothing',
    ),
    shown(
      'The version-1 host is deprecated; its deadline is January 1, 2026.',
      'http/routes > Deprecation is on every reply of a legacy path',
      'cases/stories/from-the-end-of-version-1-on-every-legacy-call-is-410',
    ),
    shown(
      'Version-2 bodies get version-2 replies, on version-1 paths too.',
      'cases/stories/a-version-2-body-on-a-booking-path-is-a-new-shipment',
      'cases/stories/a-body-that-mixes-both-versions-is-422',
    ),
    shown(
      'Clients should move: new features exist only in version 2.',
      'docs/migrating.md > New features exist only in version 2.',
      'calls/my > has what the page of the operator has, and each problem once',
    ),
    shown(
      'A newsletter announces updates two months ahead, and deprecations and shutdowns first.',
      'pages/workbench > the guide has each step of a move',
      'docs/migrating.md > Its newsletter announces an update two months before its release',
    ),
  ),
  section(
    'Migration steps',
    shown(
      'Replace the host and the paths.',
      'pages/workbench > the guide has each step of a move',
      'calls/check > a mistake of new code is found',
    ),
    shown(
      'Replace the body, and handle the version-2 response.',
      'cases/stories/a-dry-run-explains-everything-about-a-booking',
      'cases/stories/a-dry-run-of-a-reply-shows-its-version-1-form-place-by-place',
      'calls/check > the answer is an example of what the service says, with ids',
    ),
    shown(
      'Test on the stage, then switch.',
      'docs/migrating.md > first on the stage, then in production',
      'calls/pass-through > keeps its method and its body, byte for byte',
    ),
  ),
]
