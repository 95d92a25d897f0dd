import { type Assumption, areas, assumptions, untriable } from '../src/certify/assumptions.ts'
import { table } from './table.ts'

const NEEDS: Readonly<Record<Assumption['effect'], string>> = {
  reads: 'reads',
  quotes: 'quotes',
  bookings: 'test bookings',
}

/** Returns the page of everything that the gateway assumes about the service. */
export function assumptionsPage(): string {
  const count = (effect: Assumption['effect']) =>
    assumptions.filter((assumption) => assumption.effect === effect).length
  return `# Assumptions about the service

The service's interface document leaves much open. This page has every assumption of the gateway that can be tried, how
\`transload certify assumptions\` tries it, and what to do if the service contradicts it. \`npm run docs\` generates the page from
the code: do not edit it. [Operations](operations.md#is-the-service-what-the-gateway-takes-it-for) shows how to run the command.

There are ${assumptions.length} assumptions: ${count('reads')} need no more than reads, ${count('quotes')} ask for quotes, and ${count('bookings')} need test bookings
(\`--bookings\` and \`--stage\`). Two of the others are tried on the stage alone, because they send large bodies or many calls.

${areas
  .map(
    ({ title, assumptions: all }) =>
      `## ${title}\n\n${table(
        ['Assumption', '', 'How it is tried', 'If the service contradicts it'],
        all.map(({ id, sentence, how, otherwise, effect, stageOnly }) => [
          `\`${id}\``,
          sentence,
          `${how} Needs ${NEEDS[effect]}${stageOnly ? ', on the stage' : ''}.`,
          otherwise,
        ]),
      )}`,
  )
  .join('\n')}
## Not tried

${table(['Assumption', 'Why it is not tried'], untriable)}`
}
