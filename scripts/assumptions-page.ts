import { type Assumption, assumptions } from '../src/labs/certify/assumptions.ts'

/** Returns the part about everything that the gateway assumes about the service. */
export function assumptionsPart(): string {
  const count = (effect: Assumption['effect']) =>
    assumptions.filter((assumption) => assumption.effect === effect).length
  return `Of ${assumptions.length} assumptions, ${count('reads')} need only reads, ${count('quotes')} ask for quotes, and ${count('bookings')} need test bookings.

${[...Map.groupBy(assumptions, ({ area }) => area)].map(([title, all]) => `### ${title}\n\n${areaList(all)}`).join('\n')}`
}

/** The assumptions of an area. Where all of it needs the same, the heading says so once. */
function areaList(all: readonly Assumption[]): string {
  const needs = (one: Assumption) => `${one.effect}${one.stageOnly ? ' and the stage' : ''}`
  const shared = new Set(all.map(needs)).size === 1
  const lines = all.map((one) => `- \`${one.id}\`: ${one.sentence}${shared ? '' : ` Needs ${needs(one)}.`}\n`)
  return `${shared && all[0] ? `All need ${needs(all[0])}.\n\n` : ''}${lines.join('')}`
}
