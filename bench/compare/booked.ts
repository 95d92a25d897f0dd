import { Pool } from 'undici'
import { AUTHORIZATION, BOOKED, nameAt, replay } from './calls.ts'
import { HOST, type Running } from './processes.ts'
import { Refused } from './rounds.ts'

const CONNECTIONS = 16

/** Makes the bookings that calls will ask for. */
export async function bookBeforehand({ port }: Running): Promise<void> {
  const { method, path, body = '' } = replay()
  const pool = new Pool(`http://${HOST}:${port}`, { connections: CONNECTIONS })
  const headers = { authorization: AUTHORIZATION, 'content-type': 'application/json' }
  let next = 0
  const caller = async () => {
    while (next < BOOKED.count) {
      const name = nameAt(BOOKED, next)
      next += 1
      const reply = await pool.request({ method, path, headers, body: body.replace('{name}', name) })
      const said = await reply.body.text()
      if (reply.statusCode !== 200) throw new Refused(`booking ${name} was answered ${reply.statusCode}: ${said}`)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, caller))
  await pool.close()
}
