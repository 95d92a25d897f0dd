import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { type CallName, callNames, doubt } from './calls.ts'
import { rows } from './rows.ts'

/*
 * Replies of the service against the requests that they answer. A cell is the status of the answer (`U`: 503, and the
 * outcome of the booking is not known) and the requests that follow. `cancellation` is carried out by the service, and
 * `not made` is not.
 */
const TABLE = `
                                  | quote    | quote update | approval | booking | read    | read to update | update      | cancellation   | not made
the thing itself                  | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200         | 200>GET        | 502
the thing itself, 201             | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200         | 200>GET        | 502
the thing itself, 202             | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200         | 200>GET        | 502
the thing itself, 203             | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200         | 200>GET        | 502
the thing itself, 206             | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200         | 200>GET        | 502
the thing itself, 299             | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200         | 200>GET        | 502
204                               | 502      | 200          | 200>GET  | U       | 502     | 502            | 200         | 200>GET        | 502>GET
205                               | 502      | 200          | 200>GET  | U       | 502     | 502            | 200         | 200>GET        | 502>GET
an empty body                     | 502      | 200          | 200>GET  | U       | 502     | 502            | 200         | 200>GET        | 502>GET
blanks                            | 502      | 502          | 502      | U       | 502     | 502            | 502         | 200>GET        | 502>GET
null                              | 502      | 502          | 502      | U       | 502     | 502            | 502         | 200>GET        | 502>GET
true                              | 502      | 502          | 502      | U       | 502     | 502            | 502         | 200>GET        | 502>GET
false                             | 502      | 502          | 502      | U       | 502     | 502            | 502         | 200>GET        | 502>GET
a number                          | 502      | 502          | 502      | U       | 502     | 502            | 502         | 200>GET        | 502>GET
a text                            | 502      | 502          | 502      | U       | 502     | 502            | 502         | 200>GET        | 502>GET
words                             | 502      | 502          | 502      | U       | 502     | 502            | 502         | 200>GET        | 502>GET
a page                            | 502      | 502          | 502      | U       | 502     | 502            | 502         | 200>GET        | 502>GET
an empty list                     | 502      | 502          | 502      | U       | 502     | 502            | 502         | 200>GET        | 502>GET
a list of the thing               | 502      | 502          | 502      | U       | 502     | 502            | 502         | 200>GET        | 502>GET
an empty object                   | 502      | 200          | 200>GET  | U       | 502     | 502            | 200         | 200>GET        | 502>GET
the thing in data                 | 502      | 200          | 200>GET  | U       | 502     | 502            | 200         | 200>GET        | 502>GET
the thing in shipment             | 502      | 200          | 200>GET  | U       | 502     | 502            | 200         | 200>GET        | 502>GET
a message alone                   | 502      | 200          | 200>GET  | U       | 502     | 502            | 200         | 200>GET        | 502>GET
success alone                     | 502      | 200          | 200>GET  | U       | 502     | 502            | 200         | 200>GET        | 502>GET
half a JSON                       | 502      | 502          | 502      | U       | 502     | 502            | 502         | 200>GET        | 502>GET
two JSONs                         | 502      | 502          | 502      | U       | 502     | 502            | 502         | 200>GET        | 502>GET
a nest of 20,000 levels           | 502      | 502          | 502      | U       | 502     | 502            | 502         | 200>GET        | 502>GET
the thing with a nest             | 502      | 502          | 502      | U       | 502     | 502            | 502         | 200>GET        | 502>GET
the thing after a byte order mark | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200         | 200>GET        | 502
noise                             | 502      | 502          | 502      | U       | 502     | 502            | 502         | 200>GET        | 502>GET
no id                             | 200      | 200          | 200      | U       | 502     | 502            | 200         | 200>GET        | 502
an id of null                     | 200      | 200          | 200      | U       | 502     | 502            | 200         | 200>GET        | 502
a blank id                        | 200      | 200          | 200      | U       | 502     | 502            | 200         | 200>GET        | 502
an id of dots                     | 200      | 502          | 502      | U       | 502     | 502            | 502         | 502            | 502
an id of one dot                  | 200      | 502          | 502      | U       | 502     | 502            | 502         | 502            | 502
an id that is an object           | 200      | 502          | 502      | U       | 502     | 502            | 502         | 502            | 502
an id that is a list              | 200      | 502          | 502      | U       | 502     | 502            | 502         | 502            | 502
an id that is true                | 200      | 502          | 502      | U       | 502     | 502            | 502         | 502            | 502
an id with a fraction             | 200      | 502          | 502      | U       | 502     | 502            | 502         | 502            | 502
an id with a line end             | 200      | 502          | 502      | U       | 502     | 502            | 502         | 502            | 502
half a character as id            | 200      | 502          | 502      | U       | 502     | 502            | 502         | 502            | 502
an id without end                 | 200      | 502          | 502      | U       | 502     | 502            | 502         | 502            | 502
another id                        | 200      | 502          | 502      | 200     | 502     | 502            | 502         | 502            | 502
another id that is a number       | 200      | 502          | 502      | 200     | 502     | 502            | 502         | 502            | 502
its id in capitals                | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200         | 200>GET        | 502
success: false                    | 502      | 502          | 502      | U       | 502     | 502            | 502         | 502            | 502
success: false alone              | 502      | 502          | 502      | U       | 502     | 502            | 502         | 502            | 502
success: "false"                  | 502      | 502          | 502      | U       | 502     | 502            | 502         | 502            | 502
ok: 0                             | 502      | 502          | 502      | U       | 502     | 502            | 502         | 502            | 502
an error                          | 502      | 502          | 502      | U       | 502     | 502            | 502         | 502            | 502
an error alone                    | 502      | 502          | 502      | U       | 502     | 502            | 502         | 502            | 502
a list of errors                  | 502      | 502          | 502      | U       | 502     | 502            | 502         | 502            | 502
no errors                         | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200         | 200>GET        | 502
an error of nothing               | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200         | 200>GET        | 502
an error that is OK               | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200         | 200>GET        | 502
status canceled                   | 200      | 200          | 409      | U       | 200     | 200>PUT        | 200         | 200>GET        | 502>GET
status in_transit                 | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200         | 502            | 502
no status                         | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200         | 200>GET        | 502>GET
no price                          | 502      | 200          | 200      | 200     | 200     | 200>PUT        | 200         | 200>GET        | 502
a price in words                  | 502      | 200          | 200      | 200     | 200     | 200>PUT        | 200         | 200>GET        | 502
the id alone                      | 502      | 200          | 200>GET  | 200     | 502     | 502            | 200         | 200>GET        | 502>GET
no vehicles                       | 200      | 200          | 200      | 200     | 200     | 502            | 200         | 200>GET        | 502
vehicles of null                  | 200      | 200          | 200      | 200     | 200     | 502            | 200         | 200>GET        | 502
an empty list of vehicles         | 200      | 200          | 200      | 200     | 200     | 200>PUT        | 200         | 200>GET        | 502
vehicles that are texts           | 200      | 200          | 200      | 200     | 200     | 502            | 200         | 200>GET        | 502
vehicles without ids              | 200      | 200          | 200      | 200     | 200     | 502            | 200         | 200>GET        | 502
no pickup                         | 200      | 200          | 200      | 200     | 200     | 502            | 200         | 200>GET        | 502
a pickup that is a text           | 200      | 200          | 200      | 200     | 200     | 502            | 200         | 200>GET        | 502
301                               | 502      | 502          | 502      | U       | 502     | 502            | 502         | 502            | 502
302                               | 502      | 502          | 502      | U       | 502     | 502            | 502         | 502            | 502
304                               | 502      | 502          | 502      | U       | 502     | 502            | 502         | 502            | 502
307                               | 502      | 502          | 502      | U       | 502     | 502            | 502         | 502            | 502
400                               | 400      | 400          | 400      | 400     | 400     | 400            | 400         | 200>GET        | 400>GET
401                               | 401      | 401          | 401      | 401     | 401     | 401            | 401         | 401            | 401
403                               | 403      | 403          | 403      | 403     | 403     | 403            | 403         | 403            | 403
404                               | 502      | 404          | 404      | 502     | 404     | 404            | 404         | 200>GET        | 404>GET
405                               | 502      | 405          | 405      | 502     | 405     | 405            | 405         | 405            | 405
408                               | 408      | 408          | 408      | 408     | 408     | 408            | 408         | 408            | 408
409                               | 409      | 409          | 409      | 409     | 409     | 409            | 409         | 200>GET        | 409>GET
410                               | 410      | 410          | 410      | 410     | 410     | 410            | 410         | 200>GET        | 410>GET
412                               | 412      | 412          | 412      | 412     | 412     | 412            | 200>GET     | 412            | 412
413                               | 413      | 413          | 413      | 413     | 413     | 413            | 413         | 413            | 413
418                               | 418      | 418          | 418      | 418     | 418     | 418            | 418         | 418            | 418
422                               | 422      | 422          | 422      | 422     | 422     | 422            | 422         | 200>GET        | 422>GET
429                               | 429      | 429          | 429      | 429     | 429     | 429            | 429         | 429            | 429
500                               | 502      | 502          | 502      | U       | 502     | 502            | 502         | 502            | 502
501                               | 502      | 502          | 502      | U       | 502     | 502            | 502         | 502            | 502
502                               | 200>POST | 502          | 502      | U       | 200>GET | 200>GET>PUT    | 502         | 200>DELETE>GET | 200>DELETE>GET
503                               | 200>POST | 503          | 503      | 503     | 200>GET | 200>GET>PUT    | 503         | 200>DELETE>GET | 200>DELETE>GET
504                               | 200>POST | 502          | 502      | U       | 200>GET | 200>GET>PUT    | 502         | 200>DELETE>GET | 200>DELETE>GET
599                               | 502      | 502          | 502      | U       | 502     | 502            | 502         | 502            | 502
404 with the thing                | 502      | 404          | 404      | 502     | 404     | 404            | 404         | 200>GET        | 404>GET
500 with the thing                | 502      | 502          | 502      | U       | 502     | 502            | 502         | 502            | 502
`

const [heads = [], ...lines] = TABLE.split('\n')
  .filter((line) => line !== '')
  .map((line) => line.split('|').map((cell) => cell.trim()))
const expected = new Map(lines.map(([what = '', ...cells]) => [what, cells]))

/** A message is one line of plain text. */
const MESSAGE = /^[^\p{Cc}\p{Zl}\p{Zp}]{10,500}$/u

test('the table has a line for every reply and a column for every call', () => {
  expect([...expected.keys()]).toEqual(rows.map(([what]) => what))
  expect(new Set(expected.keys()).size).toBeGreaterThanOrEqual(60)
  expect(heads.slice(1)).toHaveLength(callNames.length)
})

describe.each(callNames.map((name, column) => ({ name, column })))('the reply to a $name', ({ name, column }) => {
  test.each(rows)('is %s', async (what, change) => {
    const { answer, requests } = await doubt(name, change)
    const isUnknown = name === 'booking' && answer.json['TransportationBooked'] === 'Unknown'
    const cell = [isUnknown ? 'U' : answer.status, ...requests.slice(1).map(({ method }) => method)].join('>')
    expect(cell, answer.text).toBe(expected.get(what)?.[column])
    if (answer.status !== 200) expectError(name, answer.json)
    if (answer.status === 200 && name === 'quote') expect(answer.json['Cost']).toMatch(/^\d+\.\d\d$/)
    if (answer.status === 200 && name === 'read') {
      expect(answer.json['ReferenceNumber']).toBe(bookingExample.ReferenceNumber)
    }
  })
})

function expectError(name: CallName, json: Readonly<Record<string, string>>): void {
  expect(json['Message']).toMatch(MESSAGE)
  if (name.includes('quote') || name === 'approval') expect(json['Cost']).toBe('')
  else expect(['No', 'Unknown']).toContain(json['TransportationBooked'])
}
