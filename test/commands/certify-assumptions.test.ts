/** Promise: what a trial of the service prints is reviewed (contract, section 11). */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openSandbox } from '../bookings/desk.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { CLIENT, OWN } from '../gateway.ts'
import type { SandboxOptions } from '../stand-in/stand-in.ts'
import { transcript } from './transcript.ts'

async function startStage(options: SandboxOptions = {}) {
  const sandbox = await openSandbox(options)
  return { sandbox, env: { ...OWN, V2_BASE_URL: sandbox.url } }
}

const TRIED = 'basic-accepted,price-is-number,phone-is-digits,external-id-kept'

test('a trial of a service that keeps every assumption is told as it was', async () => {
  const { sandbox, env } = await startStage()
  const place = folder()
  const text = await transcript(
    place,
    [
      `certify assumptions --only ${TRIED}`,
      `certify assumptions --only ${TRIED} --stage ${sandbox.url}/v2/ --bookings --save before.json`,
      `certify assumptions --only '${TRIED} , quote-by-post' --compare before.json --stage ${sandbox.url} --bookings`,
      `certify assumptions --only ${TRIED} --compare before.json --json`,
      `certify assumptions --only ${TRIED} --compare before.json`,
      'certify assumptions --clean-up',
    ],
    env,
  )
  await expect(text).toMatchFileSnapshot('output/certify-assumptions.txt')
})

test('a trial of a service that contradicts some is told as it was', async () => {
  const { sandbox, env } = await startStage({ deviations: ['phone-is-digits', 'price-is-number'] })
  const place = folder()
  const results = [
    { id: 'price-is-number', verdict: 'confirmed', seen: 'a number' },
    { id: 'phone-is-digits', verdict: 'not tried', seen: 'needs --bookings and --stage' },
  ]
  writeFileSync(join(place, 'before.json'), JSON.stringify({ service: 'x', at: '2026-01-02T03:04:05Z', results }))
  const made = { address: sandbox.url, tenant: CLIENT.id, reference: 'TRANSLOAD-TEST-old-01' }
  writeFileSync(join(place, 'left.ndjson'), `${JSON.stringify(made)}\n{"cut`)
  const text = await transcript(
    place,
    [
      `certify assumptions --only ${TRIED} --stage ${sandbox.url} --bookings`,
      `certify assumptions --only ${TRIED} --stage ${sandbox.url} --bookings --json`,
      `certify assumptions --only ${TRIED} --compare before.json --stage ${sandbox.url} --bookings`,
      'certify assumptions --only basic-accepted --journal left.ndjson',
      'certify assumptions --clean-up --journal left.ndjson',
    ],
    env,
  )
  await expect(text).toMatchFileSnapshot('output/certify-assumptions-contradicted.txt')
})

test('a plan sends nothing, nor does a mistake in the command line of a trial', async () => {
  const { sandbox, env } = await startStage()
  const place = folder()
  writeFileSync(join(place, 'text.json'), 'nonsense')
  writeFileSync(join(place, 'other.json'), '{"results":[]}')
  const lines = [
    'certify assumptions --plan',
    `certify assumptions --only ${TRIED},body-256-kib --plan --stage ${sandbox.url}`,
    `certify assumptions --only ${TRIED} --plan --json --stage ${sandbox.url} --bookings`,
    'certify assumptions --only basic-acepted',
    'certify assumptions --only nothing,basic-accepted',
    'certify assumptions --compare text.json',
    'certify assumptions --compare other.json',
    'certify assumptions --compare none.json',
    'certify assumptions --tenant nobody --plan',
    'certify assumptions --bookings',
    'certify assumptions --stage nonsense',
    'certify assumptions --stage https://stage.example.com',
  ]
  await expect(await transcript(place, lines, env)).toMatchFileSnapshot('output/certify-mistakes.txt')
  const without = ['certify assumptions --plan', 'rehearse --against service']
  const { V2_BASE_URL } = env
  await expect(await transcript(place, without, { V2_BASE_URL })).toMatchFileSnapshot('output/certify-nobody.txt')
  expect(sandbox.requests).toEqual([])
})

test('a service that does not answer is out of reach after five checks', async () => {
  const { sandbox, env } = await startStage()
  sandbox.fail({ kind: 'reset-before', times: 'always' })
  const lines = ['certify assumptions', 'rehearse --against service']
  await expect(await transcript(folder(), lines, env)).toMatchFileSnapshot('output/certify-out-of-reach.txt')
})
