import { type Line, STUB, whole } from './figures.ts'
import type { Results } from './results.ts'

const WIDTH = 760
const NAMES = 250
const VALUES = 80
const BAR = 18
const STEP = 28
const HEAD = 44
const GAP = 20
const MARGIN = 12
const CONNECTIONS = 32

/** Grays that are legible on white and on black, and one color for the gateway. */
const STYLE = `
text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #57606a }
.title { font-size: 15px; font-weight: 600 }
.own { font-weight: 600 }
rect { fill: #9aa4ae } rect.own { fill: #3f7fbf }
@media (prefers-color-scheme: dark) { text { fill: #adb5bd } rect { fill: #6e7781 } rect.own { fill: #5b9bd5 } }`

interface Panel {
  readonly title: string
  readonly lines: readonly Line[]
}

/** Draws a bar for each contender's calls a second; returns undefined without results. */
export function chart(results: Results): string | undefined {
  const panels = [
    { section: 'quotes', title: 'Translated quotes a second' },
    { section: 'pass-through', title: 'Version-2 calls passed through a second' },
  ].flatMap(({ section, title }): Panel[] => {
    // The data of both sections are lines.
    const lines = results[section]?.data as readonly Line[] | undefined
    const shown = lines?.filter(({ id, connections }) => id !== STUB && connections === CONNECTIONS) ?? []
    return shown.length > 0 ? [{ title: `${title}, one core, ${CONNECTIONS} connections`, lines: shown }] : []
  })
  if (panels.length === 0) return undefined
  let top = 0
  const drawn = panels.map((panel) => {
    const text = draw(panel, top)
    top += HEAD + panel.lines.length * STEP + GAP
    return text
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${top}" viewBox="0 0 ${WIDTH} ${top}" role="img" aria-label="${panels.map(({ title }) => title).join('; ')}">
<style>${STYLE}
</style>
${drawn.join('\n')}
</svg>
`
}

function draw({ title, lines }: Panel, top: number): string {
  const bars = lines.toSorted((one, other) => other.perSecond - one.perSecond)
  const longest = bars[0]?.perSecond ?? 1
  const drawn = bars.map(({ id, name, perSecond }, i) => {
    const y = top + HEAD + i * STEP
    const length = Math.max(1, Math.round((perSecond / longest) * (WIDTH - NAMES - VALUES - MARGIN)))
    const own = id === 'gateway' ? ' class="own"' : ''
    const text = y + BAR - 4
    return `<text x="${NAMES - MARGIN}" y="${text}" text-anchor="end"${own}>${plain(name)}</text>
<rect x="${NAMES}" y="${y}" width="${length}" height="${BAR}" rx="3"${own}/>
<text x="${NAMES + length + 8}" y="${text}"${own}>${whole(perSecond)}</text>`
  })
  return [`<text x="${MARGIN}" y="${top + 26}" class="title">${title}</text>`, ...drawn].join('\n')
}

/** Returns a name without Markdown, escaped for XML. */
const plain = (name: string) =>
  name.replaceAll('`', '').replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
