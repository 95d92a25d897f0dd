import { z } from 'zod'
import { issueText, readJsonFile } from './json-file.ts'

/** The vehicle types of version 2. */
export const VEHICLE_TYPES = ['car', 'suv', 'van', 'truck', 'truck_ext', 'work_van', 'service_body'] as const

/** Checked, because a phrase with any other type would send requests that the service rejects. */
const vehicleType = z.enum(VEHICLE_TYPES, `is not a version-2 vehicle type; the types are ${VEHICLE_TYPES.join(', ')}`)

const lookups = z.strictObject({
  vehicle_types: z.record(z.string(), vehicleType, 'must be an object').default({}),
  actions: z.record(z.string(), z.string('must be text'), 'must be an object').default({}),
})

/** The operator's additions to the built-in lookup tables and action names. */
export type Lookups = z.output<typeof lookups>

/** Reads and checks the JSON file at a path. */
export const lookupsFile = z.string().transform((path, ctx): Lookups => {
  const complain = (message: string) => {
    ctx.issues.push({ code: 'custom', message: `names ${path}, ${message}`, input: path })
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
    )
  }
  return z.NEVER
})
