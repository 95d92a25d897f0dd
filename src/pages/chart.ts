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

/** Draws calls per day: version 1 at the bottom, version 2 on top. A table beside it has the figures. */
export function chart(days: readonly Bar[], about: string, size: 'small' | 'large'): Html {
  const { width, height } = size === 'small' ? SMALL : LARGE
  const most = Math.max(1, ...days.map(({ version1, version2 }) => version1 + version2))
  const step = width / Math.max(1, days.length)
  const at = (value: number) => value.toFixed(DIGITS)
  const bar = (kind: keyof Omit<Bar, 'date'>, index: number, value: number, below: number) => {
    if (value === 0) return ''
    const tall = (value / most) * (height - 1)
    const top = height - 1 - (below / most) * (height - 1) - tall
    return html`<rect class="${kind}" x="${at(index * step)}" y="${at(top)}" width="${at(step * (1 - GAP))}" height="${at(tall)}"/>`
  }
  return html`<svg class="${size}" role="img" aria-label="${about}" preserveAspectRatio="none" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
${days.map((day, i) => [bar('version1', i, day.version1, 0), bar('version2', i, day.version2, day.version1)])}<line class="axis" x1="0" x2="${width}" y1="${height - 0.5}" y2="${height - 0.5}"/></svg>`
}

/** Explains the colors of the charts. */
export const chartKey = (): Html => html`<p class="key soft"><span>${swatch('version1')} version 1</span>
<span>${swatch('version2')} version 2</span></p>`

const swatch = (kind: string): Html =>
  html`<svg aria-hidden="true" viewBox="0 0 10 10" width="10" height="10"><rect class="${kind}" width="10" height="10"/></svg>`
