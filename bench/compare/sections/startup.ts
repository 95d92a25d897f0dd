import { measureStartups, type Startups, startupTable } from '../../startup.ts'
import { shippedCommand } from '../contenders.ts'
import { placed } from '../processes.ts'
import type { Section } from '../section.ts'

/** From the start of the process to the first answer. */
export const startup: Section<readonly Startups[]> = {
  title: 'Start',
  about:
    'From the start of the process to the first answered quote, and from SIGTERM to its end; nothing is pinned to a core.',
  inRounds: false,
  measure: ({ sizes }) => measureStartups(placed(shippedCommand()), sizes.starts),
  markdown: startupTable,
}
