import { expect, test } from 'vitest'
import { loadMappings } from '../../src/config/mappings.ts'
import { slotKinds } from '../../src/migration/counts.ts'
import { createEquivalents } from '../../src/migration/report.ts'

test('the version-2 equivalent of every field of every action is the reviewed one', async () => {
  const catalog = await loadMappings()
  const equivalent = createEquivalents(catalog)
  const lines = [...catalog.actions.values()].flatMap((compiled) => {
    const kinds = slotKinds(compiled)
    const { name } = compiled.action
    return compiled.fields.names.map((field, slot) => {
      const { places = [], note = '' } = equivalent(name, field) ?? {}
      return `${name} ${field} (${kinds[slot]}): ${places.join(', ') || '-'}: ${note}`
    })
  })
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('equivalents.txt')
})
