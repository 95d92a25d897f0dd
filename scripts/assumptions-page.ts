import { type Assumption, assumptions } from '../src/labs/certify/assumptions.ts'

/** Returns the part about everything that the gateway assumes about the service. */
export function assumptionsPart(): string {
  const count = (effect: Assumption['effect']) => assumptions.filter((one) => one.effect === effect).length
  return `Of ${assumptions.length} assumptions, ${count('reads')} need only reads, ${count('quotes')} ask for quotes, and ${count('bookings')} need test bookings.

${[...Map.groupBy(assumptions, ({ area }) => area)].map(([title, all]) => `### ${title}\n\n${areaList(all)}`).join('\n')}`
}

/** The assumptions of an area, which all need the same. */
function areaList(all: readonly Assumption[]): string {
  const lines = all.map(({ id, sentence }) => `- \`${id}\`: ${sentence}\n`)
  return `All need ${all[0]?.effect}.\n\n${lines.join('')}`
}
