import { readSetup } from './read-setup.ts'

/** Checks what `serve` would check before it starts. */
export async function check(): Promise<number> {
  const { catalog } = await readSetup()
  process.stdout.write(
    `The configuration is good: ${catalog.actions.size} actions at ${catalog.endpoints.size} legacy paths.\n`,
  )
  return 0
}
