/** A row as a driver returns it. Only this program writes the tables, so their values have the types that it wrote. */
export type DatabaseRow = Readonly<Record<string, unknown>>

/** One statement, in the PostgreSQL dialect that `sqlite/session.ts` can translate. */
interface Statement {
  readonly text: string
  readonly values: readonly (string | number | null)[]
}

/**
 * The work of one of the store's verbs, written once for both engines: it yields statements and receives their rows. SQLite runs it in
 * the calling thread, PostgreSQL in a transaction.
 */
export type Work<T> = Generator<Statement, T, readonly DatabaseRow[]>

export const sql = (text: string, ...values: Statement['values']): Statement => ({ text, values })

/** Asks for the store's time. */
export const CLOCK = sql('SELECT transload.now_ms() AS now')

export function* now(): Work<number> {
  const [row] = yield CLOCK
  return Number(row?.['now'])
}

/** The day by the store's own calendar (pruning.ts). Rows that are written or used are stamped with it. */
export const TODAY = '(SELECT day FROM transload.calendar)'

/** A value in a row of `transload.each($1)`, which returns the items of a JSON array as text. */
export const item = (index: number, type: 'text' | 'bigint' = 'text'): string =>
  type === 'text' ? `value::json->>${index}` : `(value::json->>${index})::bigint`

/** The verbs that work makes. */
export type VerbsOf<Works> = {
  readonly [Name in keyof Works]: Works[Name] extends (...args: infer Args) => Work<infer Result>
    ? (...args: Args) => Promise<Result>
    : never
}

/** Work and a verb. Their arguments fit their name, because `bind` has paired them. */
export type AnyWork = (...args: readonly unknown[]) => Work<unknown>
export type AnyVerb = (...args: readonly unknown[]) => Promise<unknown>

/** Turns work into verbs, each made by `verbOf`. */
export function bind<Works extends object>(
  works: Works,
  verbOf: (name: keyof Works & string, work: AnyWork) => AnyVerb,
): VerbsOf<Works> {
  const made = Object.entries(works).map(([name, work]) => [name, verbOf(name as keyof Works & string, work)])
  // Each verb has the arguments and result of the work with its name.
  return Object.fromEntries(made) as VerbsOf<Works>
}
