import { expect, test } from 'vitest'
import { replyShapes } from '../../mappings/service-shapes.ts'
import { eventStatuses, shipmentEvent } from '../../mappings/shipment-event.ts'
import { loadMappings } from '../../src/config/mappings.ts'
import type { Shape } from '../../src/mapping/shape.ts'

/** Writes data of declarations as indented JSON; a codec is its name, and what only code says is left out. */
const written = (value: unknown): string =>
  JSON.stringify(
    value,
    (_key, part: unknown) => {
      if (part instanceof RegExp) return String(part)
      if (part instanceof Map) return Object.fromEntries(part)
      if (part instanceof Set) return [...part]
      if (part instanceof Function) return undefined
      if (typeof part === 'object' && part !== null && 'decode' in part && 'name' in part) return part.name
      return part
    },
    1,
  )

const { actions } = await loadMappings()

test.each([...actions.values()].map(({ action }) => [action.name, action] as const))(
  'the declaration of %s is the reviewed one',
  async (name, action) => {
    await expect(`${written(action)}\n`).toMatchFileSnapshot(`declarations/${name}.txt`)
  },
)

test('the rows of an event are the reviewed ones', async () => {
  await expect(`${written({ eventStatuses, ...shipmentEvent })}\n`).toMatchFileSnapshot(
    'declarations/shipment-event.txt',
  )
})

/** Returns a line for each place of a shape. */
function placesOf(shape: Shape, place: string, isRequired = false): readonly string[] {
  const line = (what: string) => `${place}: ${what}${isRequired ? ', required' : ''}`
  switch (shape.kind) {
    case 'object': {
      const { members, required } = shape
      const inside = Object.entries(members).flatMap(([name, member]) =>
        placesOf(member, `${place}.${name}`, required.includes(name)),
      )
      return [line('object'), ...inside]
    }
    case 'list':
      return [line('list'), ...placesOf(shape.of, `${place}[]`)]
    case 'choice':
      return [line(`one of ${shape.values.join(', ')}`)]
    default:
      return [line(shape.kind)]
  }
}

test('the shapes of the replies are the reviewed ones', async () => {
  const lines = Object.entries(replyShapes).flatMap(([name, shape]) => placesOf(shape, `(${name})`))
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('declarations/shapes.txt')
})
