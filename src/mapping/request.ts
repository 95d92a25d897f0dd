import type { FieldIndex } from './fields.ts'
import { compileNotes } from './notes.ts'
import { placeOf, putAt } from './paths.ts'
import { ABSENT, decode, explain, fallBack, type RequestStep, type Tables, UNDECODED } from './request-run.ts'
import type { Row } from './row.ts'
import { keepsTextOf } from './row-keeps.ts'

/** Compiles a request's rows into steps once; a call then parses no paths. */
export function compileRequest(rows: readonly Row[], index: FieldIndex, tables: Tables): readonly RequestStep[] {
  return rows.flatMap((row) => compileRow(row, index, tables) ?? [])
}

function compileRow(row: Row, index: FieldIndex, tables: Tables): RequestStep | undefined {
  const slot = (v1: string) => index.slotOf(v1) ?? -1
  const keeps = keepsTextOf(row)
  switch (row.kind) {
    case 'move': {
      const from = slot(row.v1)
      const to = placeOf(row.v2)
      const reason = `no ${row.v1} was sent`
      const note = compileNotes(row.v1, row.codec)
      const rule = { name: row.codec.name, remark: row.codec.remark, keeps }
      return (run) => {
        const before = run.values[from]
        const after = before === undefined ? ABSENT : decode(run, row.v1, row.codec, before)
        if (after === UNDECODED) return
        if (after === ABSENT) {
          if (!fallBack(run, row.fallbacks, row.v2, to, reason) && row.required) {
            run.problems.push({ field: row.v1, code: 'required', message: `${row.v1} is required` })
          }
          return
        }
        putAt(run.body, to, after)
        note?.(before, run.notes)
        explain(run, row.v2, [row.v1], before, after, rule)
      }
    }
    case 'split': {
      const from = slot(row.v1)
      const targets = Object.entries(row.v2).map(([part, v2]) => ({ part, v2, to: placeOf(v2) }))
      const note = compileNotes(row.v1, row.codec)
      const rule = { name: row.codec.name, remark: row.codec.remark, keeps }
      return (run) => {
        const before = run.values[from]
        const parts = before === undefined ? ABSENT : decode(run, row.v1, row.codec, before)
        if (parts === UNDECODED || parts === ABSENT) return
        note?.(before, run.notes)
        for (const { part, v2, to } of targets) {
          const after = parts[part]
          if (after === undefined) continue
          putAt(run.body, to, after)
          explain(run, v2, [row.v1], before, after, rule)
        }
      }
    }
    case 'join': {
      const sources = row.v1.map((v1) => ({ v1, from: slot(v1) }))
      const rule = { name: row.joiner.name, keeps }
      const to = placeOf(row.v2)
      return (run) => {
        const sent = sources.filter(({ from }) => typeof run.values[from] === 'string')
        if (sent.length === 0) return
        const before = sent.map(({ from }) => String(run.values[from]))
        const after = row.joiner.join(before)
        putAt(run.body, to, after)
        explain(
          run,
          row.v2,
          sent.map(({ v1 }) => v1),
          before,
          after,
          rule,
        )
      }
    }
    case 'lookup': {
      const table = tables.get(row.table)
      if (!table) throw new Error(`there is no table ${row.table}`)
      const sources = row.sources.map((source) => ({ ...source, from: slot(source.v1) }))
      const to = placeOf(row.v2)
      const rule = { name: row.table, keeps }
      const reason = `the table ${row.table} knows none of ${row.sources.map(({ v1 }) => v1).join(', ')}`
      return (run) => {
        for (const { v1, by, from } of sources) {
          const before = run.values[from]
          if (typeof before !== 'string') continue
          const after = table[by](before)
          if (after === undefined) continue
          putAt(run.body, to, after)
          explain(run, row.v2, [v1], before, after, rule)
          return
        }
        fallBack(run, row.fallbacks, row.v2, to, reason)
      }
    }
    case 'fromQuote': {
      const to = placeOf(row.v2)
      const { onlyWith } = row
      return (run) => {
        if (onlyWith && !run.settings[onlyWith]) return
        fallBack(run, row.fallbacks, row.v2, to, 'version 1 has no field for it and no quote is remembered')
      }
    }
    case 'ref':
    case 'v1Only':
    case 'v2Only':
      return undefined
    case 'callerNumber':
    case 'fixed':
    case 'choose':
    case 'message':
      throw new Error(`a ${row.kind} row cannot be used in a request`)
    default:
      return row satisfies never
  }
}
