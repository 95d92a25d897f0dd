/** Promise: what the commands about the cross-reference print is reviewed (contract, section 11). */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { link, thing } from '../store/samples.ts'
import { fillStore, transcript, transcriptFolder } from './transcript.ts'

const NUMBERS = [
  'tenant,kind,ReferenceNumber,OrderRefNumber,VinNo,shipment_id,at,Colour,Size',
  'acme,,REF-1,,,id-1,2024-05-06,red,1',
  'acme,quote,REF-2,O-2,VIN2,id-2,2024-05-06T07:08:09Z,,',
  'acme,,REF-1,,,id-other,,,',
  'acme,,REF-3,,,,,,',
  ',,REF-4,,,id-4,,,',
]

test('the commands about the cross-reference print what they did', async () => {
  const folder = transcriptFolder()
  writeFileSync(join(folder, 'numbers.csv'), `${NUMBERS.join('\n')}\n`)
  writeFileSync(join(folder, 'more.ndjson'), '{"name":"N-1","id":"id-9","tenant":"other"}\n{"name":"N-2"}\nnothing\n')
  writeFileSync(join(folder, 'no-columns.csv'), 'a;b\n1;2\n')
  await fillStore(folder, async (store) => {
    await store.put({ links: [link({ name: 'Q-1' })], thing: thing() })
    await store.put({ links: [link({ name: 'Q-1', id: 'id-7', vin: 'V', kind: 'shipment', givenBy: 'service' })] })
  })
  const text = await transcript(folder, [
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
