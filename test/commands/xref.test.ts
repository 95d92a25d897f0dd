/** Promise: numbers are imported from what spreadsheets and databases write, shown and exported (contract, section 6). */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { folder } from '../callers/tenants-gateway.ts'
import { named, quote, shipment } from '../store/samples.ts'
import { fillStore, transcript } from './transcript.ts'

const NUMBERS = [
  'tenant,kind,ReferenceNumber,OrderRefNumber,VinNo,shipment_id,at,Colour,Size',
  'acme,,REF-1,,,id-1,2024-05-06,red,1',
  'acme,quote,REF-2,O-2,VIN2,id-2,2024-05-06T07:08:09Z,,',
  'acme,,REF-1,,,id-other,,,',
  'acme,,REF-3,,,,,,',
  ',,REF-4,,,id-4,,,',
]

test('the commands about the cross-reference print what they did', async () => {
  const place = folder()
  writeFileSync(join(place, 'numbers.csv'), `${NUMBERS.join('\n')}\n`)
  writeFileSync(join(place, 'more.ndjson'), '{"name":"N-1","id":"id-9","tenant":"other"}\n{"name":"N-2"}\nnothing\n')
  writeFileSync(join(place, 'no-columns.csv'), 'a;b\n1;2\n')
  await fillStore(place, async (store) => {
    await store.put({ names: [named({ name: 'Q-1' })], quote: quote() })
    const vehicles = [{ vin: 'V', year: '2020', make: '', model: '' }]
    await store.put({
      names: [named({ name: 'Q-1', id: 'id-7', kind: 'shipment', givenBy: 'service' })],
      shipment: shipment({ id: 'id-7', vehicles }),
    })
  })
  const text = await transcript(place, [
    'xref get Q-1 --tenant acme',
    'xref get Q-1',
    'xref get none --tenant acme',
    'xref import numbers.csv',
    'xref import numbers.csv --tenant acme',
    'xref import numbers.csv --tenant acme --replace --json',
    'xref import more.ndjson',
    'xref import more.ndjson --format csv',
    'xref import more.ndjson --format xml',
    'xref import no-columns.csv',
    'xref import none.csv',
    'xref get REF-1 --tenant acme',
    'xref get O-2 --tenant acme',
    'xref export',
    'xref export --tenant other --format ndjson',
    'xref export all.jsonl',
    'xref export all.jsonl',
    'xref export all.jsonl --resume',
    'xref export all.jsonl --force --tenant nobody',
    'xref export --resume',
    'xref export all.jsonl --force --resume',
    'xref export none/all.csv',
  ])
  await expect(text).toMatchFileSnapshot('output/xref.txt')
})

/** Files as an operator has them, and as none should be. */
const FILES: Readonly<Record<string, string | Buffer>> = {
  'spreadsheet.csv': `\ufeffVinNo, ShipmentNumber ,at,SHIPMENT_ID,given_by\r
 1hgcm826 33a004352 ,REF-1,2024-05-06T07:08:09Z,id-1,service\r\r
,"REF ""2"", and\nmore",2024-05-06,"id-2"
"", Ünïcode ☂ ,2024-01-01,id-3,,,\r\n`,
  'numbers.csv': `tenant,ShipmentNumber,OrderRefNumber,ReferenceNumber,number,name,quote_id,shipment_id,uuid,at,Color,
zenith,W-1,O-1,,,,q-1,,,2024-01-01,red,
,W-2,W-2,R-2,N-2,A-2,,s-2,s-2,2024-01-01,,
,W-3,,,,,,,u-3,2024-01-01,,
,W-4,,,,,,.a,,2024-01-01,,
,W-5,,,,,,1..2,,2024-01-01,,
,W-6,,,,,,Ünïcode,,2024-01-01,,
`,
  'mistakes.csv': [
    'tenant,kind,name,vin,id,at,given_by,uuid',
    ...['acme,,,,id-1,,', 'acme,,N,,,,', 'acme,,,,,,', 'acme,booking,N,,id-1,,', 'acme,,N,,id-1,,us'],
    ...['01/02/2024', 'x2024-01-02', '2024-99-99'].map((at) => `acme,,N,,id-1,${at},`),
    ...['acme,,N,,id-1,,,id-2', 'acme,,N,,id-1,,,,more', 'acme,,N\0,,id-1,,', 'acme,quote,Q-1,VIN,id-9,2024-01-01,'],
    ...['.', '..', '...', '\\u0020', '\\u0020..', 'id\t1', 'id\x1b[2J', '\\u0007', 'i'.repeat(257)].map(
      (id) => `acme,,N,,${id},,`,
    ),
    'acme,quote,Q-2,,id-9,2024-01-01,',
  ].join('\n'),
  'database.ndjson': `\ufeff{"uuid":"id-1","ReferenceNumber":12345,"VinNo":"vin 1","at":"2024-01-01","unknown":{"a":[1]}}\r
\r
{"at":"2024-05-06T07:08:09.010Z","id":" id-2 ","name":"line\u2028end","tenant":"zenith","kind":"quote","vin":"V"}
{"name":"last","id":"id-4","at":"2024-01-01"}`,
  'mistakes.ndjson': [
    ...[
      '{"name":"A","id":"1","at":"2024-01-01"}',
      'not json',
      '[]',
      '{"name":"B"}',
      '{"name":"C","id":"1","uuid":"2"}',
    ],
    ...['{"name":"\\ud800","id":"3"}', '{"name":9007199254740993,"id":"4"}', '{"name":"D","id":"4","at":"2024-01-01"}'],
  ].join('\n'),
  'empty.csv': '',
  'blank.csv': '\n\n',
  'no-id.csv': 'name,vin\n',
  'no-name.csv': 'uuid,vin\n',
  'object.csv': '  {"name":"REF-1"}\n',
  'list.csv': '[1]',
  'open-quote.csv': 'name,id\n"REF-1,id-1\n',
  'latin-1.csv': Buffer.from('name,id\nJos\xe9', 'latin1'),
  'cut.csv': Buffer.from('name,id\n\xc3', 'latin1'),
  'table.ndjson': 'name,id\nREF-1,id-1\n',
  'header.ndjson': 'name,id',
  'pretty.ndjson': '{\n  "name": "REF-1"\n}\n',
  'list.ndjson': '[{"name":"REF-1"}]\n',
  'latin-1.ndjson': Buffer.from('{"name":"a","id":"b"}\nJos\xe9', 'latin1'),
  'cut.ndjson': Buffer.from('{"name":"a","id":"b"}\n\xc3', 'latin1'),
}

test('an import reads files of any program, tells each mistake with its line, and writes the other rows', async () => {
  const place = folder()
  for (const [name, content] of Object.entries(FILES)) writeFileSync(join(place, name), content)
  mkdirSync(join(place, 'folder'))
  const imports = [...Object.keys(FILES), 'folder'].map((name) => `xref import ${name} --tenant ${name}`)
  const text = await transcript(place, [...imports, 'xref export'])
  await expect(text).toMatchFileSnapshot('output/xref-import.txt')
})
