/** Promise: alerts and dashboard use existing metrics (contract, section 11). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { errorTable } from '../src/language/errors.ts'
import { ROOT } from './command.ts'
import { DASHBOARD, expressionsOf, MONITORING, scrapeOfBusy } from './monitoring.ts'

const alerts = readFileSync(join(MONITORING, 'alerts.yml'), 'utf8')
const alertTests = readFileSync(join(MONITORING, 'alerts.test.yml'), 'utf8')
const runbook = readFileSync(join(ROOT, 'docs/runbook.md'), 'utf8').split('\n## Alerts\n')[1]?.split('\n## ')[0] ?? ''
const alertNames = [...alerts.matchAll(/- alert: (\w+)/g)].map(([, name]) => name ?? '')

/** Returns the names of the gateway's metrics in expressions. */
const metricsIn = (text: string) => new Set(text.match(/\b(?:transload|process|nodejs)_\w+/g))

/** Returns the series names of a gateway that has done a bit of everything. */
async function seriesNames(): Promise<ReadonlySet<string>> {
  const text = await scrapeOfBusy()
  const declared = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)]
  return new Set(
    declared.flatMap(([, name = '', type]) =>
      type === 'histogram' ? ['bucket', 'sum', 'count'].map((part) => `${name}_${part}`) : [name],
    ),
  )
}

test('the alerts and the dashboard use existing metrics', async () => {
  const known = await seriesNames()
  const asked = [...metricsIn(alerts), ...expressionsOf(DASHBOARD).flatMap((expr) => [...metricsIn(expr)])]
  expect(asked.length).toBeGreaterThan(20)
  expect(asked.filter((name) => !known.has(name))).toEqual([])
  // Conversely, every metric of the gateway is on the dashboard or in an alert.
  const shown = new Set(asked.map((name) => name.replace(/_(bucket|sum|count)$/, '')))
  const own = [...known]
    .filter((name) => name.startsWith('transload_'))
    .map((name) => name.replace(/_(bucket|sum|count)$/, ''))
  expect([...new Set(own)].filter((name) => !shown.has(name))).toEqual([
    // Described in the log and on the migration page.
    'transload_brownout_end_timestamp_seconds',
    // For questions about the age of the content in use.
    'transload_reload_last_success_timestamp_seconds',
  ])
})

test('the alerts use existing error codes', () => {
  const asked = [...alerts.matchAll(/error=~?"([^"]+)"/g)].flatMap(([, codes = '']) => codes.split('|'))
  expect(asked.length).toBeGreaterThan(5)
  expect(asked.filter((code) => !Object.hasOwn(errorTable, code))).toEqual([])
})

describe.each(alertNames)('the alert %s', (name) => {
  test('has an entry in the runbook, to which it links, and a test', () => {
    const rule = alerts.split(`- alert: ${name}\n`)[1]?.split('- alert:')[0]
    expect(rule).toContain(`runbook_url: https://runbooks.example.com/transload/runbook.md#${name.toLowerCase()}\n`)
    const entry = runbook.split(`\n### ${name}\n`)[1]?.split('\n#')[0] ?? ''
    expect(entry.match(/^- \*\*\w+\*\*: \S/gm)?.map((part) => part.split('**')[1])).toEqual(['Meaning', 'Look', 'Do'])
    expect(alertTests).toMatch(new RegExp(`alertname: ${name}\\n\\s+eval_time: \\w+\\n\\s+exp_alerts:`))
  })
})

test('the runbook has no entry without an alert', () => {
  expect([...runbook.matchAll(/^### (\w+)$/gm)].map(([, name]) => name).sort()).toEqual([...alertNames].sort())
})

test('every panel of the dashboard has its own id and the provisioned data source', () => {
  const ids = DASHBOARD.panels.map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  const sources = new Set(
    DASHBOARD.panels.flatMap(({ targets = [] }) => targets.map(({ datasource }) => datasource.uid)),
  )
  const provisioned = readFileSync(join(MONITORING, 'grafana/provisioning/datasources/prometheus.yml'), 'utf8')
  expect([...sources].map((uid) => provisioned.includes(`uid: ${uid}`))).toEqual([true])
})
