import type { Section } from './section.ts'
import { calls } from './sections/calls.ts'
import { durableQuotes, passThrough, quotes } from './sections/comparisons.ts'
import { openLoopQuotes } from './sections/open-loop.ts'
import { startup } from './sections/startup.ts'

/** All sections, in the order of the page. */
export const sections: ReadonlyMap<string, Section> = new Map<string, Section>([
  ['quotes', quotes],
  ['durable', durableQuotes],
  ['open-loop', openLoopQuotes],
  ['pass-through', passThrough],
  ['calls', calls],
  ['startup', startup],
])
