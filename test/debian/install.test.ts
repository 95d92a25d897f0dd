/** Promise: the package installs in another project, and runs (contract, section 11). */

import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { cleanEnv, newFolder, output, pathWithThisNode } from '../command.ts'
import { pack } from '../pack.ts'

const INSTALL_MS = 120_000

test('npm installs the package with its dependencies in another project, and it runs', {
  timeout: INSTALL_MS,
}, async () => {
  const folder = newFolder('install')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const project = join(folder, 'project')
  mkdirSync(project)
  const here = { cwd: project, env: cleanEnv({ PATH: pathWithThisNode() }) }
  await output('npm', ['init', '--yes'], here)
  await output('npm', ['install', '--no-audit', '--no-fund', await pack(folder)], here)
  const env = { ...here.env, V2_BASE_URL: 'http://127.0.0.1:1' }
  expect(await output('npx', ['transload', 'check'], { ...here, env })).toMatch(/^The configuration is valid: /)
})
