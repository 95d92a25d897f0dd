import { labelledGauge } from './metrics.ts'

/** A file that is read again while the gateway runs. */
type WatchedFile = 'tenants' | 'certificate'

/** Keeps the result of each file's last reload. */
export type Reloads = ReturnType<typeof createReloads>

interface LastReload {
  readonly at: number
  readonly reasons: readonly string[]
}

const MS_PER_SECOND = 1_000

/** Creates the record of reloads; it contains a file once that was read. */
export function createReloads(now: () => number) {
  const files = new Map<WatchedFile, LastReload>()
  const values = (of: (one: LastReload) => number) => () =>
    [...files].map(([file, one]) => ({ labels: { file }, value: of(one) }))
  return {
    taken: (file: WatchedFile) => void files.set(file, { at: now(), reasons: [] }),
    /** The old content stays in use. */
    refused: (file: WatchedFile, reasons: readonly string[]) =>
      void files.set(file, { at: files.get(file)?.at ?? 0, reasons }),
    /** Returns the files whose new content was refused, with the reasons. */
    refusals: () =>
      [...files].filter(([, { reasons }]) => reasons.length > 0).map(([file, { reasons }]) => ({ file, reasons })),
    metrics: [
      labelledGauge(
        'transload_reload_success',
        "1 if a file's current content is in use; 0 if it was refused and the old content stays in use.",
        values(({ reasons }) => (reasons.length === 0 ? 1 : 0)),
      ),
      labelledGauge(
        'transload_reload_last_success_timestamp_seconds',
        "When a file's content in use was last read.",
        values(({ at }) => at / MS_PER_SECOND),
      ),
    ],
  }
}
