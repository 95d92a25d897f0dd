import { type Assumption, areas, assumptions, untriable } from '../src/certify/assumptions.ts'
import { table } from './table.ts'

const NEEDS: Readonly<Record<Assumption['effect'], string>> = {
  reads: 'reads',
  quotes: 'quotes',
  bookings: 'bookings',
}

/** Returns the part about everything that the gateway assumes about the service. */
export function assumptionsPart(): string {
  const count = (effect: Assumption['effect']) =>
    assumptions.filter((assumption) => assumption.effect === effect).length
  return `\`npm run docs\` writes this part from the code. There are ${assumptions.length} assumptions: ${count('reads')} need no more than reads,
${count('quotes')} ask for quotes, and ${count('bookings')} need test bookings. \`transload certify assumptions --plan\` prints how each one is tried.

${areas
  .map(
    ({ title, assumptions: all }) =>
      `### ${title}\n\n${table(
        ['Assumption', '', 'Needs', 'If the service contradicts it'],
        all.map(({ id, sentence, otherwise, effect, stageOnly }) => [
          `\`${id}\``,
          sentence,
          `${NEEDS[effect]}${stageOnly ? ', stage' : ''}`,
          otherwise,
        ]),
      )}`,
  )
  .join('\n')}
### Not tried

${table(['Assumption', 'Why it is not tried'], untriable)}`
}
