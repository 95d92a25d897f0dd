import { type Assumption, assumptions } from '../src/labs/certify/assumptions.ts'
import { table } from './table.ts'

/** Returns the part about everything that the gateway assumes about the service. */
export function assumptionsPart(): string {
  const count = (effect: Assumption['effect']) =>
    assumptions.filter((assumption) => assumption.effect === effect).length
  return `\`npm run docs\` writes this part from the code. Of ${assumptions.length} assumptions, ${count('reads')} need only reads, ${count('quotes')} ask for
quotes, and ${count('bookings')} need test bookings. \`transload certify assumptions --plan\` prints how each one is tested.

${[...Map.groupBy(assumptions, ({ area }) => area)].map(([title, all]) => `### ${title}\n\n${areaTable(all)}`).join('\n')}`
}

/** The table of an area. Where all of it needs the same, the heading says so once. */
function areaTable(all: readonly Assumption[]): string {
  const needs = (one: Assumption) => `${one.effect}${one.stageOnly ? ', stage' : ''}`
  const shared = new Set(all.map(needs)).size === 1
  const rows = all.map((one) => [`\`${one.id}\``, one.sentence, ...(shared ? [] : [needs(one)]), one.otherwise])
  const head = ['Name', 'Assumption', ...(shared ? [] : ['Needs']), 'If it is wrong']
  return `${shared && all[0] ? `Needs ${needs(all[0])}.\n\n` : ''}${table(head, rows)}`
}
