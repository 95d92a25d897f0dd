import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { openStore } from '../../src/store/open.ts'
import { book } from '../bookings/desk.ts'
import { newFolder } from '../command.ts'
import { get, OWN, post, startGateway } from '../gateway.ts'

/** Returns the gateway's own metrics of a scrape, without values: those of Node and of the process come with a package. */
const ownMetrics = (text: string) =>
  text
    .split('\n\n')
    .filter((metric) => metric.startsWith('# HELP transload_'))
    .map((metric) => [...new Set(metric.split('\n').map(seriesOf))].join('\n'))
    .sort()
    .map((metric) => metric.replace(/_bucket\{le="([^"]+)",?(.*)\}(?:\n.*_bucket\{le="([^"]+)",?\2\})+/g, bounds))
    .join('\n\n')

/** Returns a line without its value, and without labels that differ from run to run. */
const seriesOf = (line: string) =>
  line.startsWith('#')
    ? line
    : line.replace(/ \S+$/, '').replace(/(version="|node="|service="|operation=")[^"]*"/g, '$1…"')

/** Shows the buckets of a histogram in one line. */
function bounds(buckets: string, _first: string, labels: string): string {
  const all = [...buckets.matchAll(/le="([^"]+)"/g)].map(([, bound]) => bound)
  return `_bucket{${labels}} le ${all.join(' ')}`
}

test('every metric has the name, the help, the type and the labels that it had', async () => {
  const folder = newFolder('metrics')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const gateway = await startGateway({
    env: { ...OWN, V2_TOKEN: 'oauth2', BROWNOUTS: '2091-01-12T15:00Z/1h' },
    store: await openStore(join(folder, 'test.db')),
  })
  await post(gateway, '/getShippingQuote.php', { ...quoteExample, Foo: '1' })
  await book(gateway)
  await get(gateway, '/getShipment.php?ReferenceNumber=NOBODY')
  const scraped = await fetch(`${gateway.adminUrl}/metrics`)
  expect(scraped.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  await expect(ownMetrics(await scraped.text())).toMatchFileSnapshot('metrics.txt')
})
