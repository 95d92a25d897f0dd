/** Promise: a reply that says little or contradicts itself proves nothing (contract, section 9). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Answer } from '../stand-in/faults.ts'
import { callNames, openDoubted } from './doubted.ts'

const SAID: Readonly<Record<string, Said>> = JSON.parse(readFileSync(join(import.meta.dirname, 'replies.json'), 'utf8'))

/*
 * A caller learns what a reply proves, and nothing is written that was not read. A cell is the status of the answer (`U`: 503 and an
 * unknown outcome of the booking) and the requests that follow. The service carries out `cancellation`, but not `not made`.
 */
const TABLE = `
                                    | quote    | quote update | approval | booking | read    | read to update | update  | cancellation   | not made
the thing itself                    | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200     | 200>GET        | 502
the thing itself, 201               | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200     | 200>GET        | 502
the thing itself, 299               | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200     | 200>GET        | 502
204                                 | 502      | 200          | 200>GET  | U       | 502     | 502            | 200     | 200>GET        | 502>GET
an empty body                       | 502      | 200          | 200>GET  | U       | 502     | 502            | 200     | 200>GET        | 502>GET
blanks                              | 502      | 502          | 502      | U       | 502     | 502            | 502     | 200>GET        | 502>GET
null                                | 502      | 502          | 502      | U       | 502     | 502            | 502     | 200>GET        | 502>GET
a text                              | 502      | 502          | 502      | U       | 502     | 502            | 502     | 200>GET        | 502>GET
a page                              | 502      | 502          | 502      | U       | 502     | 502            | 502     | 200>GET        | 502>GET
a list of the thing                 | 502      | 502          | 502      | U       | 502     | 502            | 502     | 200>GET        | 502>GET
an empty object                     | 502      | 200          | 200>GET  | U       | 502     | 502            | 200     | 200>GET        | 502>GET
the thing in data                   | 502      | 200          | 200      | U       | 502     | 502            | 200     | 200>GET        | 502>GET
the thing in shipment               | 502      | 200          | 200      | U       | 502     | 502            | 200     | 200>GET        | 502>GET
a message alone                     | 502      | 200          | 200>GET  | U       | 502     | 502            | 200     | 200>GET        | 502>GET
half a JSON                         | 502      | 502          | 502      | U       | 502     | 502            | 502     | 200>GET        | 502>GET
two JSONs                           | 502      | 502          | 502      | U       | 502     | 502            | 502     | 200>GET        | 502>GET
a nest of 20,000 levels             | 502      | 502          | 502      | U       | 502     | 502            | 502     | 200>GET        | 502>GET
the thing with a nest               | 502      | 502          | 502      | U       | 502     | 502            | 502     | 200>GET        | 502>GET
the thing after a byte order mark   | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200     | 200>GET        | 502
noise                               | 502      | 502          | 502      | U       | 502     | 502            | 502     | 200>GET        | 502>GET
no id                               | 200      | 200          | 200      | U       | 502     | 502            | 200     | 200>GET        | 502
an id of null                       | 200      | 200          | 200      | U       | 502     | 502            | 200     | 200>GET        | 502
a blank id                          | 200      | 200          | 200      | U       | 502     | 502            | 200     | 200>GET        | 502
an id of dots                       | 200      | 502          | 502      | U       | 502     | 502            | 502     | 502            | 502
an id that is an object             | 200      | 502          | 502      | U       | 502     | 502            | 502     | 502            | 502
an id with a fraction               | 200      | 502          | 502      | U       | 502     | 502            | 502     | 502            | 502
an id with a line end               | 200      | 502          | 502      | U       | 502     | 502            | 502     | 502            | 502
half a character as id              | 200      | 502          | 502      | U       | 502     | 502            | 502     | 502            | 502
an id without end                   | 200      | 502          | 502      | U       | 502     | 502            | 502     | 502            | 502
another id                          | 200      | 502          | 502      | 200     | 502     | 502            | 502     | 502            | 502
its id in capitals                  | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200     | 200>GET        | 502
success: false                      | 502      | 502          | 502      | U       | 502     | 502            | 502     | 502            | 502
success: false alone                | 502      | 502          | 502      | U       | 502     | 502            | 502     | 502            | 502
ok: 0                               | 502      | 502          | 502      | U       | 502     | 502            | 502     | 502            | 502
an error                            | 502      | 502          | 502      | U       | 502     | 502            | 502     | 502            | 502
a list of errors                    | 502      | 502          | 502      | U       | 502     | 502            | 502     | 502            | 502
an error of nothing                 | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200     | 200>GET        | 502
an error that is OK                 | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200     | 200>GET        | 502
ok: No                              | 502      | 502          | 502      | U       | 502     | 502            | 502     | 502            | 502
an error in words that say OK       | 502      | 502          | 502      | U       | 502     | 502            | 502     | 502            | 502
an error of code 7 that says OK     | 502      | 502          | 502      | U       | 502     | 502            | 502     | 502            | 502
an error of no code                 | 502      | 502          | 502      | U       | 502     | 502            | 502     | 502            | 502
an error of code 0 with more to say | 502      | 502          | 502      | U       | 502     | 502            | 502     | 502            | 502
an error of code 0 in other words   | 502      | 502          | 502      | U       | 502     | 502            | 502     | 502            | 502
errors that are none                | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200     | 200>GET        | 502
status Cancelled                    | 200      | 200          | 409      | U       | 200     | 200>PUT        | 200     | 200>GET        | 502>GET
status failed                       | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200     | 502            | 502
status deleted                      | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200     | 200>GET        | 502>GET
another quote_id                    | 200      | 502          | 502      | 200     | 200     | 200>PUT        | 200     | 200>GET        | 502
an id of its own                    | 200      | 502          | 502      | 200     | 502     | 502            | 200     | 200>GET        | 502
its number as shipment_id           | 200      | 200          | 502      | 200     | 200     | 200>PUT        | 200     | 200>GET        | 502
a list of its id                    | 200      | 502          | 502      | U       | 502     | 502            | 502     | 502            | 502
its id with blanks                  | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200     | 200>GET        | 502
nothing but a status                | 502      | 200          | 200>GET  | 200     | 502     | 502            | 200     | 200>GET        | 502>GET
status canceled                     | 200      | 200          | 409      | U       | 200     | 200>PUT        | 200     | 200>GET        | 502>GET
status in_transit                   | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200     | 502            | 502
no status                           | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200     | 200>GET        | 502>GET
no price                            | 502      | 200          | 200      | 200     | 200     | 200>PUT        | 200     | 200>GET        | 502
a price in words                    | 502      | 200          | 200      | 200     | 200     | 200>PUT        | 200     | 200>GET        | 502
the id alone                        | 502      | 200          | 200>GET  | 200     | 502     | 502            | 200     | 200>GET        | 502>GET
no vehicles                         | 200      | 200          | 200      | 200     | 200     | 502            | 200     | 200>GET        | 502
vehicles that are texts             | 200      | 200          | 200      | 200     | 200     | 502            | 200     | 200>GET        | 502
vehicles without ids                | 200      | 200          | 200      | 200     | 200     | 502            | 200     | 200>GET        | 502
no pickup                           | 200      | 200          | 200      | 200     | 200     | 502            | 200     | 200>GET        | 502
302                                 | 502      | 502          | 502      | U       | 502     | 502            | 502     | 502            | 502
400                                 | 400      | 400          | 400      | 400     | 400     | 400            | 400     | 200>GET        | 400>GET
401                                 | 401      | 401          | 401      | 401     | 401     | 401            | 401     | 401            | 401
403                                 | 403      | 403          | 403      | 403     | 403     | 403            | 403     | 403            | 403
404                                 | 502      | 404          | 404      | 502     | 404     | 404            | 404     | 200>GET        | 404>GET
405                                 | 502      | 405          | 405      | 502     | 405     | 405            | 405     | 405            | 405
409                                 | 409      | 409          | 409      | 409     | 409     | 409            | 409     | 200>GET        | 409>GET
410                                 | 410      | 410          | 410      | 410     | 404     | 404            | 410     | 200>GET        | 410>GET
412                                 | 412      | 412          | 412      | 412     | 412     | 412            | 200>GET | 412            | 412
422                                 | 422      | 422          | 422      | 422     | 422     | 422            | 422     | 200>GET        | 422>GET
429                                 | 429      | 429          | 429      | 429     | 429     | 429            | 429     | 429            | 429
500                                 | 502      | 502          | 502      | U       | 502     | 502            | 502     | 502            | 502
502                                 | 200>POST | 502          | 502      | U       | 200>GET | 200>GET>PUT    | 502     | 200>DELETE>GET | 200>DELETE>GET
503                                 | 200>POST | 503          | 503      | 503     | 200>GET | 200>GET>PUT    | 503     | 200>DELETE>GET | 200>DELETE>GET
504                                 | 200>POST | 502          | 502      | U       | 200>GET | 200>GET>PUT    | 502     | 200>DELETE>GET | 200>DELETE>GET
404 with the thing                  | 502      | 404          | 404      | 502     | 404     | 404            | 404     | 200>GET        | 404>GET
`

type Change = (own: Answer) => Answer
type Json = Readonly<Record<string, unknown>>

const NEST = '['.repeat(20_000) + ']'.repeat(20_000)

/** The reply with another body. */
const json =
  (change: (own: Json) => unknown): Change =>
  ({ body }) => ({ status: 200, body: JSON.stringify(change(JSON.parse(String(body)))) })
const text =
  (change: (own: string) => string | Buffer, status = 200): Change =>
  ({ body }) => ({ status, body: change(String(body)) })
/** The reply with another id, under whatever key it has. */
const withId = (id: (own: string) => unknown) =>
  json((body) => {
    const key = 'shipment_id' in body ? 'shipment_id' : 'id'
    return { ...body, [key]: id(String(body[key])) }
  })

/**
 * The replies that are made from the correct one, each by what is odd about it; `replies.json` has those that are the same for all calls.
 */
const CHANGES: Readonly<Record<string, Change>> = {
  'a list of the thing': json((body) => [body]),
  'the thing in data': json((data) => ({ data })),
  'the thing in shipment': json((shipment) => ({ shipment })),
  'half a JSON': text((own) => own.slice(0, own.length >> 1)),
  'two JSONs': text((own) => own + own),
  'a nest of 20,000 levels': text(() => `{"deep":${NEST}}`),
  'the thing with a nest': text((own) => `${own.slice(0, -1)},"deep":${NEST}}`),
  'the thing after a byte order mark': text((own) => `\ufeff${own}`),
  noise: text(() => Buffer.from([0x1f, 0x8b, 0xff, 0xfe, 0x00])),
  'its id in capitals': withId((own) => own.toUpperCase()),
  'a list of its id': withId((own) => [own]),
  'its id with blanks': withId((own) => ` ${own} `),
  'an id of its own': json(({ id, shipment_id, ...own }) => ({
    ...own,
    id: 'change-7',
    shipment_id: shipment_id ?? id,
  })),
  'its number as shipment_id': json((own) => ({ ...own, shipment_id: own['number'] ?? own['shipment_id'] })),
  'nothing but a status': json(({ id, shipment_id }) => ({ id, shipment_id, status: ' ', customer: null })),
  'the id alone': json(({ id, shipment_id }) => ({ id, shipment_id })),
}

/** A body; or members that are added to the correct one, left out of it (`without`), or replace its id. */
type Said = {
  readonly body?: string
  readonly with?: Json
  readonly without?: readonly string[]
  readonly id?: unknown
}

function saying({ body, with: more, without = [], ...other }: Said): Change {
  if (body !== undefined) return text(() => body)
  if ('id' in other) return withId(() => other.id)
  return json((own) =>
    Object.fromEntries(Object.entries({ ...own, ...more }).filter(([key]) => !without.includes(key))),
  )
}

/** Returns the change that a row names in words or by its status. */
function changeOf(what: string): Change {
  const said = SAID[what]
  const status = Number(/\d+/.exec(what))
  return (
    CHANGES[what] ??
    (said && saying(said)) ??
    text((own) => (what === '204' ? '' : what === String(status) ? '{"message":"Lane closed"}' : own), status || 200)
  )
}

/** A message is one line of plain text. */
const MESSAGE = /^[^\p{Cc}\p{Zl}\p{Zp}]{10,500}$/u

test('replies and what follows from them', { timeout: 180_000 }, async () => {
  const doubt = await openDoubted()
  const [, ...lines] = TABLE.split('\n').filter(Boolean)
  const cellsOf = (line: string) => line.split('|').map((cell) => cell.trim())
  const found: string[] = []
  expect(Object.keys({ ...CHANGES, ...SAID }).filter((what) => !TABLE.includes(`\n${what} `))).toEqual([])
  for (const [what = ''] of lines.map(cellsOf)) {
    const change = changeOf(what)
    const cells = [what]
    for (const name of callNames) {
      const { answer, next, again, shipments } = await doubt(name, change)
      const { status: answered, json: shown } = answer
      const isUnknown = name === 'booking' && shown.TransportationBooked === 'Unknown'
      cells.push([isUnknown ? 'U' : answered, ...next.map(({ method }) => method)].join('>'))
      if (answered !== 200) {
        expect(shown.Message).toMatch(MESSAGE)
        if (name.includes('quote') || name === 'approval') expect(shown.Cost).toBe('')
        else expect(['No', 'Unknown']).toContain(shown.TransportationBooked)
      }
      if (answered === 200 && name === 'quote') expect(shown.Cost).toMatch(/^\d+\.\d\d$/)
      if (answered === 200 && name === 'read') expect(shown.ReferenceNumber).not.toBe('')
      if (name !== 'booking') continue
      // It is never sent again unless the reply proves that nothing was booked.
      expect((await again()).json.TransportationBooked).toBe(isUnknown ? 'Unknown' : 'Yes')
      if (isUnknown || answered === 200) expect(shipments()).toBe(1)
    }
    found.push(cells.join(' | '))
  }
  expect(found).toEqual(lines.map((line) => cellsOf(line).join(' | ')))
})
