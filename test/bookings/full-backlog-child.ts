import { createServer } from 'node:net'

/** A server that is told to stop while it listens: once its backlog is full, connecting to it never ends. */
const server = createServer()
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
  const address = server.address()
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`)
})
