#!/usr/bin/env node
import { existsSync } from 'node:fs'

const OLDEST_NODE = 24

/** A checkout has the sources; the package has only what is compiled from them, because Node strips no types there. */
const sources = new URL('../src/main.ts', import.meta.url)
const compiled = new URL('../dist/src/main.js', import.meta.url)

if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE) {
  process.stderr.write(`transload needs Node ${OLDEST_NODE} or later; this is Node ${process.versions.node}.\n`)
  process.exitCode = 1
} else {
  // Loaded after the check: an older Node fails on the syntax and on the packages, and says nothing of the version.
  await import((existsSync(sources) ? sources : compiled).href)
}
