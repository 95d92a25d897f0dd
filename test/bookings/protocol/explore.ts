import { hash } from 'node:crypto'
import type { AuditEntry } from '../../../src/store/store.ts'
import { type Invariant, stepOf, type Violation } from './invariants.ts'
import { createMoves } from './moves.ts'
import { keyOf, type Scenario, type World } from './world.ts'

/** The question of an exploration. */
export interface Exploration {
  readonly depth: number
  readonly scenario: Scenario
  /**
   * The invariant that is checked.
   * @default all
   */
  readonly only?: Invariant
}

/** The findings of an exploration. */
export interface Explored {
  /** The number of different states, the first one included. */
  readonly states: number
  /** The number of moves from one state to another. */
  readonly moves: number
  /** The number of new states at each depth. */
  readonly layers: readonly number[]
  /** The steps of claims that were taken. */
  readonly steps: ReadonlySet<string>
  /** The answers of calls, by the word and the code of the error. */
  readonly answers: ReadonlySet<string>
  /** The first violation, with the shortest way to it. */
  readonly violation?: Violation & { readonly path: readonly string[] }
}

/** The way to a state: the move before it, and the one before that. */
interface Way {
  readonly label: string
  readonly before: Way | undefined
}

/** Explores every order of everything that may happen, breadth first, up to a depth or to the first violation. */
export async function explore({ depth, scenario, only }: Exploration): Promise<Explored> {
  const steps = new Set<string>()
  const answers = new Set<string>()
  let violation: Violation | undefined
  const witness = {
    report: (found: Violation) => {
      if (only === undefined || found.invariant === only) violation ??= found
    },
    onStep: (entry: AuditEntry) => void steps.add(stepOf(entry)),
    onAnswer: ({ booked, of, isReplay }: { booked: string; of: string; isReplay: boolean }) =>
      void answers.add(booked === 'Yes' ? `Yes${isReplay ? ' again' : ''}` : `${booked}: ${of}`),
  }
  const { first, movesOf } = await createMoves(scenario, witness)
  // A digest of 128 bits instead of the text: it takes less memory, and two texts never share one in practice.
  const known = new Set([digest(first)])
  let layer: (readonly [World, Way | undefined])[] = [[first, undefined]]
  const layers = [1]
  let moves = 0
  while (layer.length > 0 && layers.length <= depth) {
    const isLast = layers.length === depth
    const next: typeof layer = []
    let added = 0
    for (const [world, way] of layer) {
      for (const { label, go } of movesOf(world)) {
        const after = await go()
        moves += 1
        if (violation) {
          const path = pathOf({ label, before: way })
          return { states: known.size, moves, layers, steps, answers, violation: { ...violation, path } }
        }
        const key = digest(after)
        if (known.has(key)) continue
        known.add(key)
        added += 1
        if (!isLast) next.push([after, { label, before: way }])
      }
    }
    layers.push(added)
    layer = next
  }
  return { states: known.size, moves, layers, steps, answers }
}

const digest = (world: World) => hash('md5', keyOf(world), 'base64')

function pathOf(way: Way | undefined): readonly string[] {
  const path: string[] = []
  for (let at = way; at; at = at.before) path.unshift(at.label)
  return path
}
