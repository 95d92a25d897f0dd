import { z } from 'zod'
import { vehicleTypes } from '../../../mappings/vehicle-types.ts'
import { issueText, readJsonFile } from './json-file.ts'

const texts = z.record(z.string(), z.string('must be text'), 'must be an object').default({})

/** A phrase that means another type would send requests that the service refuses. */
const types = [...new Set(Object.values(vehicleTypes))]
const vehicleType = z.enum(types, `is no vehicle type of version 2; the types are ${types.join(', ')}`)

const lookups = z.strictObject({
  vehicle_types: z.record(z.string(), vehicleType, 'must be an object').default({}),
  actions: texts,
})

/** The operator's additions to the built-in lookup tables and action names. */
export type Lookups = z.output<typeof lookups>

/** Reads and checks the JSON file at a path. */
export const lookupsFile = z.string().transform((path, ctx): Lookups => {
  const complain = (message: string, place = '') => {
    ctx.issues.push({ code: 'custom', message: `names ${path}${place}, ${message}`, input: path })
  }
  const file = readJsonFile(path)
  if ('error' in file) {
    complain(`which ${file.error}`)
    return z.NEVER
  }
  const parsed = lookups.safeParse(file.content)
  if (parsed.success) return parsed.data
  for (const issue of parsed.error.issues) {
    const place = issue.path.map(String).join('.')
    complain(
      `in which ${issue.code === 'unrecognized_keys' ? 'there is an' : place || 'the whole'} ${issueText(issue)}`,
      `:${file.placeOf(issue)}`,
    )
  }
  return z.NEVER
})
