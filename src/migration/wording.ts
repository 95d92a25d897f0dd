import { DAY_MS } from '../store/scoreboard.ts'

/** Returns a day since 1970 as `2026-11-22`. */
export const dayText = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 'yyyy-mm-dd'.length)

/** Returns `1 call`, `2 calls`. */
export const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

const ONE_DECIMAL = 10
const HUNDRED = 100

/** Returns a share as `4.2 %`. */
export const percent = (share: number): string => `${Math.round(share * HUNDRED * ONE_DECIMAL) / ONE_DECIMAL} %`
