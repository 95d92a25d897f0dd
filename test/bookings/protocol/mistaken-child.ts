import { allowMistakes, MISTAKES } from './mistakes.ts'
import { SCENARIOS } from './scenarios.ts'

/* Explores the code with each of the mistakes, and prints a line of JSON for each. Its argument is the depth. */

const depth = Number(process.argv[2])

allowMistakes()
for (const [name, { breaks, scenario }] of Object.entries(MISTAKES)) {
  const { explore }: typeof import('./explore.ts') = await import(`./explore.ts?mistake=${encodeURIComponent(name)}`)
  const { states, violation } = await explore({ depth, scenario: SCENARIOS[scenario], only: breaks })
  process.stdout.write(`${JSON.stringify({ name, states, violation })}\n`)
}
