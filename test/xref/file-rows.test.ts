/** Promise: an import reads what spreadsheets and databases write, and an export is read back (contract, section 6). */

import { Readable } from 'node:stream'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FileUnreadable, type Format, fromCell, toCell } from '../../src/xref/file-records.ts'
import { type ImportRow, type RowDefaults, readRows } from '../../src/xref/transfer.ts'
import { runs } from '../size.ts'

describe('rows of a file', () => {
  /** The rows of a text, and the columns that are not used. */
  async function rowsOf(
    text: string | Buffer | readonly Buffer[],
    format: Format = 'csv',
    defaults: RowDefaults = { tenant: 'acme' },
  ) {
    const unused: string[] = []
    const rows: ImportRow[] = []
    const parts = typeof text === 'string' || Buffer.isBuffer(text) ? [Buffer.from(text)] : text
    for await (const row of readRows(Readable.from(parts), format, defaults, (columns) => unused.push(...columns))) {
      rows.push(row)
    }
    return { rows, unused }
  }

  const refusalOf = async (text: string | Buffer, format?: Format): Promise<string> => {
    try {
      await rowsOf(text, format)
    } catch (error) {
      expect(error).toBeInstanceOf(FileUnreadable)
      return error instanceof FileUnreadable ? `${error.name}: ${error.message}` : ''
    }
    return 'it was read'
  }

  const shipment = (name: string, id: string, more: object = {}) => ({
    tenant: 'acme',
    kind: 'shipment',
    name,
    vin: '',
    id,
    givenBy: 'caller',
    at: undefined,
    ...more,
  })

  describe('a CSV file', () => {
    test('has its columns in any order and case, with any line ends, and blanks around its cells', async () => {
      const { rows, unused } = await rowsOf(
        '\ufeffVinNo, ShipmentNumber ,at,SHIPMENT_ID,given_by\r\n' +
          ' 1hgcm826 33a004352 ,REF-1,2024-05-06T07:08:09Z,id-1,service\r' +
          '\r\n' +
          ',"REF ""2"", and\nmore",2024-05-06,"id-2"\n' +
          '"", Ünïcode ☂ ,,id-3,,,\r\n',
      )
      expect(rows.map((row) => ('links' in row ? row.links : row.error))).toEqual([
        [
          shipment('REF-1', 'id-1', {
            vin: '1HGCM82633A004352',
            givenBy: 'service',
            at: Date.UTC(2024, 4, 6, 7, 8, 9),
          }),
        ],
        [shipment('REF "2", and\nmore', 'id-2', { at: Date.UTC(2024, 4, 6) })],
        [shipment('Ünïcode ☂', 'id-3')],
      ])
      expect(unused).toEqual([])
    })

    test('names what a row is about by the column of its id, and links each of its numbers once', async () => {
      const { rows, unused } = await rowsOf(
        'tenant,ShipmentNumber,OrderRefNumber,ReferenceNumber,number,name,quote_id,shipment_id,uuid,Color,\n' +
          'zenith,W-1,O-1,,,,q-1,,,red,\n' +
          ',W-2,W-2,R-2,N-2,A-2,,s-2,s-2,,\n' +
          ',W-3,,,,,,,u-3,,\n',
      )
      expect(rows).toEqual([
        {
          line: 2,
          links: [
            shipment('W-1', 'q-1', { kind: 'quote', tenant: 'zenith' }),
            shipment('O-1', 'q-1', { kind: 'quote', tenant: 'zenith' }),
          ],
        },
        { line: 3, links: ['W-2', 'R-2', 'N-2', 'A-2'].map((name) => shipment(name, 's-2')) },
        { line: 4, links: [shipment('W-3', 'u-3')] },
      ])
      expect(unused).toEqual(['Color'])
    })

    test.each([
      ['acme,,,,id-1,,', 'has no name'],
      ['acme,,REF-1,,,,', 'has no id'],
      ['acme,,,,,,', 'has no name'],
      ['acme,booking,REF-1,,id-1,,', 'has a kind that is neither quote nor shipment'],
      ['acme,,REF-1,,id-1,01/02/2024,', 'has a date that is not ISO 8601'],
      ['acme,,REF-1,,id-1,x2024-01-02,', 'has a date that is not ISO 8601'],
      ['acme,,REF-1,,id-1,2024-99-99,', 'has a date that is not ISO 8601'],
      ['acme,,REF-1,,id-1,,us', 'has a given_by that is neither caller nor service'],
      ['acme,,REF,1,id-1,2024-01-01,,more', 'has more fields than the first line'],
      ['acme,,REF\0,,id-1,,', 'has a name with a character that cannot be stored'],
      ...['.', '..', '...', '\\u0020', '\\u0020..', 'id\t1', 'id\x1b[2J', '\\u0007', 'i'.repeat(257)].map((id) => [
        `acme,,REF-1,,${id},,`,
        'has an id that cannot be one: it is blank, of dots alone, too long, or has a control character',
      ]),
    ])('says what is wrong with the row %j', async (row, error) => {
      const header = 'tenant,kind,name,vin,id,at,given_by'
      const { rows } = await rowsOf(`${header}\n${row}\nacme,quote,Q-1,VIN,id-9,,\n`)
      expect(rows).toEqual([
        { line: 2, error },
        { line: 3, links: [shipment('Q-1', 'id-9', { kind: 'quote' })] },
      ])
    })

    test('has one value for each column but the name', async () => {
      const { rows } = await rowsOf('name,id,uuid\nREF-1,id-1,id-1\nREF-2,id-2,id-3\n')
      expect(rows).toEqual([
        { line: 2, links: [shipment('REF-1', 'id-1')] },
        { line: 3, error: 'has two different values for id' },
      ])
    })

    test('may have ids with dots, and of other letters', async () => {
      const { rows } = await rowsOf('name,id\nREF-1,.a\nREF-2,1..2\nREF-3,Ünïcode\n')
      expect(rows.map((row) => 'links' in row && row.links[0]?.id)).toEqual(['.a', '1..2', 'Ünïcode'])
    })

    test('needs a tenant, in the row or for all', async () => {
      const { rows } = await rowsOf('tenant,name,id\n,REF-1,id-1\nzenith,REF-2,id-2\n', 'csv', { tenant: undefined })
      expect(rows).toEqual([
        { line: 2, error: 'has no tenant; add the column or --tenant' },
        { line: 3, links: [shipment('REF-2', 'id-2', { tenant: 'zenith' })] },
      ])
    })

    test.each([
      ['', 'is empty; its first line must name the columns'],
      ['\n\n', 'is empty; its first line must name the columns'],
      [
        'name;id\n',
        /^FileUnreadable: has no column name and no column id; its first line must name the columns, separated by commas: tenant, kind, name, vin, id, at, given_by, shipmentnumber, /,
      ],
      ['name,vin\n', /^FileUnreadable: has no column id; its first line/],
      ['uuid,vin\n', /^FileUnreadable: has no column name; its first line/],
      ['  {"name":"REF-1"}\n', 'holds JSON, not CSV; add --format ndjson'],
      ['[1]', 'holds JSON, not CSV; add --format ndjson'],
      ['name,id\n"REF-1,id-1\n', /^FileUnreadable: is not CSV: .*Quote Not Closed.*line 2/],
    ])('that begins with %j is refused', async (text, said) => {
      const refusal = await refusalOf(text)
      if (typeof said === 'string') expect(refusal).toBe(`FileUnreadable: ${said}`)
      else expect(refusal).toMatch(said)
    })
  })

  describe('an NDJSON file', () => {
    test('has an object on each line, with numbers or texts, in any order of names', async () => {
      const { rows } = await rowsOf(
        '\ufeff{"uuid":"id-1","ReferenceNumber":12345,"VinNo":"vin 1","kind":"shipment","unknown":{"a":[1]}}\r\n' +
          '\r\n' +
          '{"at":"2024-05-06T07:08:09.010Z","id":" id-2 ","name":"line\u2028end","tenant":"zenith","kind":"quote","vin":"V"}\r\n' +
          '{"name":9007199254740993,"id":"id-3"}\n' +
          '{"name":"last","id":"id-4"}',
        'ndjson',
      )
      expect(rows).toEqual([
        { line: 1, links: [shipment('12345', 'id-1', { vin: 'VIN1' })] },
        {
          line: 3,
          links: [
            shipment('line\u2028end', 'id-2', {
              tenant: 'zenith',
              kind: 'quote',
              at: Date.UTC(2024, 4, 6, 7, 8, 9, 10),
            }),
          ],
        },
        { line: 4, error: 'has no name' },
        { line: 5, links: [shipment('last', 'id-4')] },
      ])
    })

    const NOT_NDJSON = 'does not begin with a JSON object on one line; add --format csv if it is CSV'
    test.each([
      ['name,id\nREF-1,id-1\n', NOT_NDJSON],
      ['name,id', NOT_NDJSON],
      ['{\n  "name": "REF-1"\n}\n', NOT_NDJSON],
      ['[{"name":"REF-1"}]\n', NOT_NDJSON],
    ])('that begins with %j is refused', async (text, said) => {
      expect(await refusalOf(text, 'ndjson')).toBe(`FileUnreadable: ${said}`)
    })
  })

  test.each<Format>(['csv', 'ndjson'])('a %s file with letters in another encoding is refused', async (format) => {
    const begin = format === 'csv' ? 'name,id\n' : '{"name":"a","id":"b"}\n'
    const said = 'FileUnreadable: is not UTF-8; convert it first'
    expect(await refusalOf(Buffer.from(`${begin}Jos\xe9`, 'latin1'), format)).toBe(said)
    expect(await refusalOf(Buffer.concat([Buffer.from(begin), Buffer.of(0xc3)]), format)).toBe(said)
  })
})

describe('cells', () => {
  const OBEYED = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u
  const FORMULA = /^[=+\-@\t]/

  /** Texts with control characters, formulas, parts of CSV and its escapes, and other characters. */
  const text = fc
    .array(
      fc.oneof(
        fc.constantFrom('=', '+', '-', '@', '\t', "'", '"', '""', ',', ';', '\\', '\\u', '\\u001b', '\\u003b', 'u0009'),
        fc.constantFrom(
          '\n',
          '\r\n',
          '\u001b[31m',
          '\u001b]0;x\u0007',
          '\u009b',
          '\u007f',
          '\u2028',
          '\u202e',
          ' ',
          '\u00a0',
        ),
        fc.string({ unit: 'binary', minLength: 1, maxLength: 3 }),
      ),
      { maxLength: 8 },
    )
    .map((parts) => parts.join('').toWellFormed())

  /** The cells of a line as any reader of CSV sees them. */
  const cellsOf = (line: string): readonly string[] => parse(line, { trim: true })[0] ?? []

  const RUNS = { numRuns: runs(500, 5_000) }

  describe('a cell', () => {
    test('is read back as it was, by our reader', () => {
      fc.assert(
        fc.property(fc.array(text, { minLength: 2, maxLength: 4 }), (values) => {
          expect(cellsOf(values.map(toCell).join(',')).map(fromCell)).toEqual(values)
        }),
        RUNS,
      )
    })

    test('has nothing that a terminal obeys, and is one line', () => {
      fc.assert(
        fc.property(text, (value) => {
          expect(toCell(value)).not.toMatch(OBEYED)
        }),
        RUNS,
      )
    })

    test('is no formula in a spreadsheet, with commas or semicolons between its cells', () => {
      fc.assert(
        fc.property(text, (value) => {
          const line = `acme,${toCell(value)},id-1`
          for (const cell of cellsOf(line)) expect(cell).not.toMatch(FORMULA)
          // Programs differ in what they make of quotes inside a cell.
          for (const cell of line.split(';')) expect(cell.replace(/^["\s]+/, '')).not.toMatch(FORMULA)
        }),
        RUNS,
      )
    })
  })
})
