/** One migration of a store. A store has had a number of steps, in order; a released step never changes. */
export interface SchemaStep {
  /**
   * The least number of steps that a gateway must know to use the store after this one. A step that only adds needs no more
   * than the one before it; one that removes something needs the release that stopped using it (docs/architecture.md).
   */
  readonly needs: number
  readonly sql: string
}

/** Makes a step. */
export const step = (needs: number, sql: string): SchemaStep => ({ needs, sql })

/** The number of steps that a gateway must know to use a store that has had all of these. */
export const neededAfter = (steps: readonly SchemaStep[]): number => Math.max(0, ...steps.map(({ needs }) => needs))

/** Says why a gateway cannot use a store. */
export const tooNew = (needed: number, known: number): string =>
  `The store has version ${needed}, and this gateway knows ${known}. Run the newer gateway, or restore a backup.`
