import { Pool } from 'undici'
import { AUTHORIZATION, BOOKED, nameAt, replay } from './calls.ts'
import { HOST, type Running } from './processes.ts'
import { Refused } from './rounds.ts'

const CONNECTIONS = 16

/** Makes the bookings that the load asks for. */
export async function bookBeforehand({ port }: Running): Promise<void> {
  const { method, path, body = '' } = replay()
  const pool = new Pool(`http://${HOST}:${port}`, { connections: CONNECTIONS })
  const headers = { authorization: AUTHORIZATION, 'content-type': 'application/json' }
  const book = async (name: string): Promise<string> => {
    const reply = await pool.request({ method, path, headers, body: body.replace('{name}', name) })
    const said = await reply.body.text()
    if (reply.statusCode !== 200) throw new Refused(`booking ${name} was answered ${reply.statusCode}: ${said}`)
    return said
  }
  let next = 0
  const caller = async () => {
    while (next < BOOKED.count) {
      const name = nameAt(BOOKED, next)
      next += 1
      await book(name)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, caller))
  // The stub never repeats a number, so a second booking would be noticed.
  const name = nameAt(BOOKED, 0)
  const [once, again] = [await book(name), await book(name)]
  await pool.close()
  if (once !== again) throw new Refused(`a booking was made twice: ${once} and ${again}`)
}
