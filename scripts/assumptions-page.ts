import { type Assumption, assumptions } from '../src/labs/certify/assumptions.ts'

/** Returns the part about everything that the gateway assumes about the service. */
export function assumptionsPart(): string {
  const count = (effect: Assumption['effect']) => assumptions.filter((one) => one.effect === effect).length
  return `Of ${assumptions.length} assumptions, ${count('reads')} need only reads, ${count('quotes')} ask for quotes, and ${count('bookings')} need test bookings.

${[...Map.groupBy(assumptions, ({ area }) => area)].map(([title, all]) => `### ${title}\n\n${areaList(all)}`).join('\n')}`
}

/** The assumptions of an area. Where all of it needs the same, the heading says so once. */
function areaList(all: readonly Assumption[]): string {
  const [shared, other] = new Set(all.map(({ effect }) => effect))
  const lines = all.map(({ id, sentence, effect }) => `- \`${id}\`: ${sentence}${other ? ` Needs ${effect}.` : ''}\n`)
  return `${other ? '' : `All need ${shared}.\n\n`}${lines.join('')}`
}
