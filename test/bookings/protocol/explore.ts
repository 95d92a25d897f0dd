import { hash } from 'node:crypto'
import type { AuditEntry } from '../../../src/outside/store/store.ts'
import { type Invariant, stepOf, type Violation } from './invariants.ts'
import { createMoves } from './moves.ts'
import type { CallAnswer } from './programs.ts'
import type { Scenario } from './scenarios.ts'
import { keyOf, type World } from './world.ts'

/** The way to a state: the move before it, and the one before that. */
interface Way {
  readonly label: string
  readonly before: Way | undefined
}

/** Explores every order of events, breadth first, up to a depth or to the first violation of any invariant or of one. */
export async function explore(scenario: Scenario, depth: number, only?: Invariant) {
  const steps = new Set<string>()
  const answers = new Set<string>()
  let violation: Violation | undefined
  const { first, movesOf } = await createMoves(scenario, {
    report: (found: Violation) => {
      if (only === undefined || found.invariant === only) violation ??= found
    },
    onStep: (entry: AuditEntry) => void steps.add(stepOf(entry)),
    onAnswer: ({ word, of }: CallAnswer) => void answers.add(word.startsWith('Yes') ? word : `${word}: ${of}`),
  })
  // A digest of 128 bits takes less memory than the text, and two texts never share one in practice.
  const known = new Set([digest(first)])
  let layer: (readonly [World, Way | undefined])[] = [[first, undefined]]
  /** The number of new states at each depth. */
  const layers = [1]
  let moves = 0
  /** The shortest way to the violation. */
  let path: readonly string[] = []
  exploring: while (layer.length > 0 && layers.length <= depth) {
    const isLast = layers.length === depth
    const next: typeof layer = []
    let added = 0
    for (const [world, before] of layer) {
      for (const { label, go } of movesOf(world)) {
        const after = await go()
        moves += 1
        if (violation) {
          path = pathOf({ label, before })
          break exploring
        }
        const key = digest(after)
        if (known.has(key)) continue
        known.add(key)
        added += 1
        if (!isLast) next.push([after, { label, before }])
      }
    }
    layers.push(added)
    layer = next
  }
  return { states: known.size, moves, layers, steps, answers, violation: violation && { ...violation, path } }
}

const digest = (world: World) => hash('md5', keyOf(world), 'base64')

function pathOf(way: Way | undefined): readonly string[] {
  const path: string[] = []
  for (let at = way; at; at = at.before) path.unshift(at.label)
  return path
}
