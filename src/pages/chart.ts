import { html } from 'hono/html'
import type { Html } from './layout.ts'

/** The calls of a day. */
export interface Bar {
  readonly date: string
  readonly version1: number
  readonly version2: number
}

interface Size {
  readonly width: number
  readonly height: number
}

const SMALL: Size = { width: 180, height: 32 }
const LARGE: Size = { width: 900, height: 160 }
const GAP = 0.2
const DIGITS = 2

/**
 * Draws calls per day: version 1 at the bottom, version 2 on top. A table beside it has the figures. All bars of a version
 * are one path, because a page may have a thousand charts.
 */
export function chart(days: readonly Bar[], about: string, size: 'small' | 'large'): Html {
  const { width, height } = size === 'small' ? SMALL : LARGE
  const base = height - 1
  const most = Math.max(1, ...days.map(({ version1, version2 }) => version1 + version2))
  const step = width / Math.max(1, days.length)
  const bars = (value: (day: Bar) => number, below: (day: Bar) => number): string =>
    days
      .map((day, i) => {
        if (value(day) === 0) return ''
        const bottom = base - (below(day) / most) * base
        const top = bottom - (value(day) / most) * base
        return `M${short(i * step)} ${short(top)}h${short(step * (1 - GAP))}V${short(bottom)}H${short(i * step)}z`
      })
      .join('')
  return html`<svg class="${size}" role="img" aria-label="${about}" preserveAspectRatio="none" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
<path class="version1" d="${bars(version1Of, none)}"/><path class="version2" d="${bars(version2Of, version1Of)}"/><path class="axis" d="M0 ${base}.5h${width}"/></svg>`
}

const version1Of = ({ version1 }: Bar) => version1
const version2Of = ({ version2 }: Bar) => version2
const none = () => 0

const short = (value: number) => value.toFixed(DIGITS)

/** Explains the colors of the charts. */
export const chartKey = (): Html => html`<p class="key soft"><span>${swatch('version1')} version 1</span>
<span>${swatch('version2')} version 2</span></p>`

const swatch = (kind: string): Html =>
  html`<svg aria-hidden="true" viewBox="0 0 10 10" width="10" height="10"><rect class="${kind}" width="10" height="10"/></svg>`
