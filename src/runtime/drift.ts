import { replyShapes } from '../../mappings/service-shapes.ts'
import type { Catalog } from '../language/mapping/catalog.ts'
import { type Place, parsePlace } from '../language/mapping/paths.ts'
import { placesOf } from '../language/mapping/row-parts.ts'
import { any, compileShape, DRIFT_KINDS, type DriftKind, object, type Shape } from '../language/mapping/shape.ts'
import type { Logger } from './log.ts'
import { type CountedMetric, createCounter } from './metrics.ts'

/** The places that are told one by one. A service can invent any number of names. */
const MOST_PLACES = 200

/** Notices how the replies of the service differ from the shapes that the gateway knows. */
interface Drift {
  /** Compares the reply to an action with its shape. */
  readonly inspect: (action: string, body: unknown) => void
  readonly metric: CountedMetric
}

/** Counts every difference, and logs each place where one occurs once in the life of the process. Stores nothing. */
export function observeDrift(
  { actions }: Catalog,
  log: Logger,
  shapes: Readonly<Record<string, Shape>> = replyShapes,
): Drift {
  const counter = createCounter(
    'transload_reply_drift_total',
    'Differences in replies of the service from what the gateway knows.',
    ['kind'],
  )
  for (const kind of DRIFT_KINDS) counter.add(0, kind)
  const told = new Set<string>()

  function note(kind: DriftKind, path: string): void {
    counter.add(1, kind)
    const key = `${kind} ${path}`
    if (told.has(key) || told.size >= MOST_PLACES) return
    told.add(key)
    log.warn({ drift: { kind, path } }, 'a reply of the service differs from what the gateway knows')
  }

  const inspectors = new Map(
    Object.entries(shapes).map(([action, shape]) => {
      // A place that a row of an operator's own mapping reads is no news.
      const places = (actions.get(action)?.action.reply ?? []).flatMap(placesOf)
      const inspect = compileShape(places.reduce((known, place) => withPlace(known, parsePlace(place) ?? []), shape))
      // The replies to several actions show the same thing.
      const [thing = action] = action.split('.')
      return [action, { inspect, tell: (kind: DriftKind, place: string) => note(kind, `${thing}.${place}`) }] as const
    }),
  )
  return {
    inspect: (action, body) => {
      const known = inspectors.get(action)
      known?.inspect(body, known.tell)
    },
    metric: counter.metric,
  }
}

/** Returns a shape that has this place, too; one that has it already stays as it is. */
function withPlace(shape: Shape, [step, ...rest]: Place): Shape {
  if (step === undefined) return shape
  if (shape.kind === 'list') return typeof step === 'number' ? { ...shape, of: withPlace(shape.of, rest) } : shape
  if (shape.kind !== 'object' || typeof step !== 'string') return shape
  const member = shape.members[step]
  return object({ ...shape.members, [step]: member ? withPlace(member, rest) : any }, shape.required)
}
