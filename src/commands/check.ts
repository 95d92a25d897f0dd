import { loadConfig } from '../config/load.ts'
import { print } from './output.ts'

/** Checks everything that `serve` checks before it starts. */
export async function check(): Promise<number> {
  const { catalog } = await loadConfig()
  print(`The configuration is valid: ${catalog.actions.size} actions at ${catalog.endpoints.size} legacy paths.`)
  return 0
}
