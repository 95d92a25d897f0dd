import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { ROOT } from './command.ts'

/** The folder of the alerts and the dashboard. */
export const MONITORING = join(ROOT, 'deploy/monitoring')

const dashboard = z.object({
  uid: z.string(),
  panels: z.array(
    z.object({
      id: z.number(),
      type: z.string(),
      title: z.string().min(1),
      targets: z.array(z.object({ expr: z.string().min(1), datasource: z.object({ uid: z.string() }) })).default([]),
    }),
  ),
})

/** The dashboard, as far as the tests read it. */
export const DASHBOARD = dashboard.parse(
  JSON.parse(readFileSync(join(MONITORING, 'grafana/dashboards/transload.json'), 'utf8')),
)

/** Returns the expressions of all panels. */
export const expressionsOf = ({ panels }: typeof DASHBOARD): readonly string[] =>
  panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
