/** Promise: alerts and dashboards read existing metrics (contract, section 1). */

import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { newFolder, output, ROOT, run } from '../command.ts'
import { DASHBOARD, expressionsOf, MONITORING, scrapeOfBusy } from '../monitoring.ts'

test('promtool finds no fault with a scrape of a gateway that has worked', async () => {
  const input = await scrapeOfBusy()
  expect(await run('promtool', ['check', 'metrics'], { input })).toEqual({ code: 0, out: '', err: '' })
})

test('the example configuration and the alerts are valid', async () => {
  expect(await output('promtool', ['check', 'config', 'prometheus.yml'], { cwd: MONITORING })).toMatch(/SUCCESS/)
})

test('every alert fires when it should, and stays silent when it should', async () => {
  expect(await output('promtool', ['test', 'rules', 'alerts.test.yml'], { cwd: MONITORING })).toMatch(/SUCCESS/)
})

test('every expression of the dashboard is PromQL', async () => {
  const folder = newFolder('dashboard')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const rules = expressionsOf(DASHBOARD).map((expr, i) => ({
    record: `panel:${i}`,
    expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*'),
  }))
  // JSON is YAML.
  const file = join(folder, 'rules.yml')
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }))
  expect(await output('promtool', ['check', 'rules', file], { cwd: ROOT })).toMatch(
    `SUCCESS: ${rules.length} rules found`,
  )
})
