import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { onTestFinished } from 'vitest'

/** The faults of the connection between the gateway and the service. */
export type Trouble =
  /** Nothing. */
  | { readonly kind: 'none' }
  /** The connection is reset as soon as a request begins; the service gets nothing. */
  | { readonly kind: 'reset' }
  /** The connection is reset when the reply begins; the service has done its work. */
  | { readonly kind: 'reset-reply' }
  /** Every byte is a separate packet, both ways. */
  | { readonly kind: 'slice' }
  /** The reply comes no faster than this. */
  | { readonly kind: 'limit'; readonly bytesPerSecond: number }
  /** The reply begins so much later. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** An interim response comes before the reply. */
  | { readonly kind: 'interim'; readonly bytes: string }
  /** Half of the reply comes, then an orderly end, while the other direction stays open. */
  | { readonly kind: 'half-close' }

/** A proxy between the gateway and the service. */
export interface Proxy {
  readonly url: string
  /** The number of connections so far. */
  readonly connections: () => number
  /** Changes what happens, on connections that stand as well. */
  readonly make: (trouble: Trouble) => void
}

const TICK_MS = 10
const TICKS_PER_SECOND = 1000 / TICK_MS

/** Opens a proxy of bytes before a service for one test. */
export async function openProxy(service: { readonly url: string }): Promise<Proxy> {
  const { hostname, port } = new URL(service.url)
  const sockets = new Set<Socket>()
  let made = 0
  let trouble: Trouble = { kind: 'none' }

  const reply = async (chunk: Buffer, to: Socket): Promise<void> => {
    switch (trouble.kind) {
      case 'reset-reply':
        return void to.resetAndDestroy()
      case 'slice':
        return slices(chunk, to)
      case 'limit': {
        const step = Math.max(1, Math.floor(trouble.bytesPerSecond / TICKS_PER_SECOND))
        for (let at = 0; at < chunk.length && !to.destroyed; at += step) {
          to.write(chunk.subarray(at, at + step))
          await pause(step * (1000 / trouble.bytesPerSecond))
        }
        return
      }
      case 'delay':
        await pause(trouble.ms)
        return void (to.destroyed || to.write(chunk))
      case 'interim':
        return void to.write(
          chunk.toString('latin1').startsWith('HTTP/') ? Buffer.concat([Buffer.from(trouble.bytes), chunk]) : chunk,
        )
      case 'half-close':
        return void to.end(chunk.subarray(0, chunk.length / 2))
      case 'reset':
      case 'none':
        return void to.write(chunk)
      default:
        trouble satisfies never
    }
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
    made += 1
    const far = connect({ host: hostname, port: Number(port), noDelay: true })
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
    let asked = Promise.resolve()
    near.on('data', (chunk: Buffer) => {
      if (trouble.kind === 'reset') return void near.resetAndDestroy()
      asked = asked.then(() => (trouble.kind === 'slice' ? slices(chunk, far) : void far.write(chunk)))
    })
    let answered = Promise.resolve()
    far.on('data', (chunk: Buffer) => {
      answered = answered.then(() => reply(chunk, near))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of sockets) socket.destroy()
    await closed
  })
  return {
    // A server that listens on a port has an address with a port.
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => made,
    make: (next) => {
      trouble = next
    },
  }
}

async function slices(chunk: Buffer, to: Socket): Promise<void> {
  for (const byte of chunk) {
    if (to.destroyed) return
    await new Promise<void>((resolve) => to.write(Buffer.of(byte), () => resolve()))
  }
}
