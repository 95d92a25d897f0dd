#!/usr/bin/env node

const OLDEST_NODE = 24

if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE) {
  process.stderr.write(`transload needs Node ${OLDEST_NODE} or later; this is Node ${process.versions.node}.\n`)
  process.exitCode = 1
} else {
  // Loaded after the check: an older Node fails on the syntax and on the packages, and says nothing of the version.
  const { run } = await import('./cli.ts')
  process.exitCode = await run(process.argv.slice(2))
}
