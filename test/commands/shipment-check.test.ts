import { expect, onTestFinished, test } from 'vitest'
import { CLIENT, OWN } from '../gateway.ts'
import { booking, call } from '../sandbox/client.ts'
import { startSandbox } from '../stand-in/stand-in.ts'
import { addBooking, fillStore, handleOf, transcript, transcriptFolder } from './transcript.ts'

const UNKNOWN = '6f1c1f5e-0000-4000-8000-000000000001'

test('a booking is settled only with a shipment that is its own', async () => {
  const sandbox = await startSandbox({ credentials: { [CLIENT.id]: CLIENT.secret } })
  onTestFinished(() => sandbox.close())
  const book = async (reference: string) =>
    String((await call(sandbox, 'POST', '/v2/shipments', booking({ external_id: reference }))).json['id'])
  const [own, other, gone, broken, failing] = [
    await book('REF-1'),
    await book('REF-OTHER'),
    await book('REF-1'),
    await book('REF-1'),
    await book('REF-1'),
  ]
  await call(sandbox, 'DELETE', `/v2/shipments/${gone}`)
  sandbox.fail(
    { kind: 'no-id', on: { path: `/v2/shipments/${broken}` }, times: 'always' },
    { kind: 'status', status: 500, on: { path: `/v2/shipments/${failing}` }, times: 'always' },
    { kind: 'reset-before', on: { path: '/v2/shipments/lost' }, times: 'always' },
  )
  const folder = transcriptFolder()
  await fillStore(folder, async (store) => {
    await addBooking(store, 1, 'unknown', 'timeout', { tenant: CLIENT.id })
    await addBooking(store, 2, 'unknown', 'timeout', { tenant: 'somebody' })
    await addBooking(store, 3, 'unknown', 'timeout', { tenant: CLIENT.id, reference: '' })
  })
  const settle = (no: number, words: string) => `bookings settle ${handleOf(no)} --shipment-id ${words}`
  const text = await transcript(
    folder,
    [
      settle(1, UNKNOWN),
      settle(1, other),
      settle(1, gone),
      settle(1, broken),
      settle(1, failing),
      settle(1, 'lost'),
      settle(2, own),
      settle(1, `${own} --number TL-9`),
      settle(1, `${own} --number TL-100001`),
      settle(3, other),
      `bookings show ${handleOf(1)}`,
      'xref get TL-100001 --tenant demo',
      'xref get TL-100002 --tenant demo',
    ],
    { ...OWN, V2_BASE_URL: sandbox.url },
  )
  await expect(text).toMatchFileSnapshot('output/shipment-check.txt')
})
