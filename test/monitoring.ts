import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { quoteExample } from '../mappings/quote-rows.ts'
import { openStore } from '../src/outside/store/open.ts'
import { book } from './bookings/desk.ts'
import { folder } from './callers/tenants-gateway.ts'
import { ROOT } from './command.ts'
import { get, metricsOf, OWN, post, startGateway } from './gateway.ts'

/** The folder of the alerts and the dashboard. */
export const MONITORING = join(ROOT, 'deploy/monitoring')

interface Dashboard {
  readonly panels: readonly {
    readonly id: number
    readonly targets?: readonly { readonly expr: string; readonly datasource: { readonly uid: string } }[]
  }[]
}

/** The parts of the dashboard that the tests read. */
export const DASHBOARD: Dashboard = JSON.parse(
  readFileSync(join(MONITORING, 'grafana/dashboards/transload.json'), 'utf8'),
)

/** Returns the expressions of all panels. */
export const expressionsOf = ({ panels }: Dashboard): readonly string[] =>
  panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))

/** Scrapes a gateway that has done a bit of everything. */
export async function scrapeOfBusy(): Promise<string> {
  const store = await openStore(join(folder(), 'test.db'))
  const env = { ...OWN, V2_TOKEN: 'oauth2', BROWNOUTS: '2091-01-12T15:00Z/1h' }
  const gateway = await startGateway({ env, store })
  await post(gateway, '/getShippingQuote.php', { ...quoteExample, Foo: '1' })
  await book(gateway)
  await get(gateway, '/getShipment.php?ReferenceNumber=NOBODY')
  return metricsOf(gateway)
}
