#!/usr/bin/env node
import { existsSync } from 'node:fs'
import * as modules from 'node:module'
import { fileURLToPath } from 'node:url'

const OLDEST_NODE = 24

/** A checkout has the sources; the package has only what is compiled from them, because Node strips no types there. */
const sources = new URL('../src/main.ts', import.meta.url)
const compiled = new URL('../dist/src/main.js', import.meta.url)

if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE) {
  process.stderr.write(`transload needs Node ${OLDEST_NODE} or later; this is Node ${process.versions.node}.\n`)
  process.exitCode = 1
} else {
  const isCheckout = existsSync(sources)
  if (isCheckout) keepCompiled()
  // Loaded after the check: an older Node fails on the syntax and on the packages, and says nothing of the version.
  await import((isCheckout ? sources : compiled).href)
}

/**
 * Keeps the compiled sources for the next start, which then takes half the time and 15 MB less: nothing strips types again.
 * An older Node does not have these functions.
 */
function keepCompiled() {
  modules.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/transload', import.meta.url)))
  const folder = modules.getCompileCacheDir()
  // Threads and processes of the gateway read the variable.
  if (folder !== undefined) process.env.NODE_COMPILE_CACHE ??= folder
}
