import type { Catalog } from '../mapping/catalog.ts'
import { type Place, parsePlace } from '../mapping/paths.ts'
import { placesOf } from '../mapping/row-parts.ts'
import { any, object, type Shape } from '../mapping/shape.ts'

/** Adds the places that the replies of an operator's own mappings read: a place that a row reads is no news. */
export function knownShapes(
  shapes: Readonly<Record<string, Shape>>,
  { actions }: Pick<Catalog, 'actions'>,
): Readonly<Record<string, Shape>> {
  const entries = Object.entries(shapes).map(([name, shape]) => {
    const places = (actions.get(name)?.action.reply ?? []).flatMap(placesOf)
    return [name, places.reduce((known, place) => withPlace(known, parsePlace(place) ?? []), shape)] as const
  })
  return Object.fromEntries(entries)
}

/** Returns a shape that has this place, too; one that has it already stays as it is. */
function withPlace(shape: Shape, [step, ...rest]: Place): Shape {
  if (step === undefined) return shape
  if (shape.kind === 'list') return typeof step === 'number' ? { ...shape, of: withPlace(shape.of, rest) } : shape
  if (shape.kind !== 'object' || typeof step !== 'string') return shape
  const member = shape.members[step]
  if (!member) return object({ ...shape.members, [step]: any }, shape.required)
  return object({ ...shape.members, [step]: withPlace(member, rest) }, shape.required)
}
