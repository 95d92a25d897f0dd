import replyFrom from '@fastify/reply-from'
import fastify from 'fastify'
import { connections, host, port, service } from './place.js'
import { toVersion1, toVersion2 } from './translate.js'

/* fastify 5 with @fastify/reply-from, as their documentation has it. */

const app = fastify()
app.register(replyFrom, { base: service, undici: { connections, pipelining: 1 } })

app.post('/getShippingQuote.php', (request, reply) => {
  const fields = request.body
  return reply.from('/v2/quote', {
    body: toVersion2(fields),
    onResponse: (_request, answer, { stream }) => {
      let text = ''
      stream.setEncoding('utf8')
      stream.on('data', (chunk) => {
        text += chunk
      })
      stream.on('end', () => answer.send(toVersion1(JSON.parse(text), fields)))
    },
  })
})

app.register(async (through) => {
  // What passes through is not parsed.
  through.removeAllContentTypeParsers()
  through.addContentTypeParser('*', (_request, body, done) => done(null, body))
  through.all('/v2/*', (request, reply) => reply.from(request.url))
})

await app.listen({ host, port })
