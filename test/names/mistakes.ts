import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Room } from './laws.ts'

/** A mistake in the source: a text that is there once, and what stands in its place. */
export interface Mistake {
  readonly title: string
  readonly file: 'names.ts' | 'resolve.ts'
  readonly text: string
  readonly instead: string
}

const mistake = (title: string, file: Mistake['file'], text: string, instead: string): Mistake => ({
  title,
  file,
  text,
  instead,
})
const inResolve = (title: string, text: string, instead: string) => mistake(title, 'resolve.ts', text, instead)
const inNames = (title: string, text: string, instead: string) => mistake(title, 'names.ts', text, instead)

/** At least one mistake for each law, and one for each row of the table of VINs. */
export const mistakes: readonly Mistake[] = [
  inResolve(
    'law 1: a cancellation believes its first field',
    'others.every(({ ids }) => ids.includes(id))',
    "reference.use === 'cancel' || others.every(({ ids }) => ids.includes(id))",
  ),
  inResolve(
    'law 1: an update takes the newest shipment of a name',
    'const isChosenLater = common.length === 1 && ',
    "const isChosenLater = (common.length === 1 || reference.use === 'update') && ",
  ),
  inResolve(
    'law 2: fields that disagree are those that nobody knows',
    "return { is: 'conflict', meanings }",
    "return { is: 'unknown' }",
  ),
  inResolve(
    'law 2: a name of several disagrees with a name of one of them',
    'ids.includes(id))',
    'ids.includes(id) && ids.length === first?.ids.length)',
  ),
  inResolve(
    'law 2: a value that nobody knows is not ignored',
    'if (!first || id === undefined)',
    'if (!first || id === undefined || ignored.length > 0)',
  ),
  inResolve('law 2: a booking in doubt is not known', "if (booking && reference.kind === 'shipment')", 'if (false)'),
  inNames(
    'law 2: the quote of a booking in doubt hides it',
    'await openBookingOf(tenant, [value, ...names])',
    'undefined',
  ),
  inNames(
    'law 2: a shipment that is gone hides the booking in doubt',
    'name.ofCaller.every((id) => shipments.get(id)?.isGone)',
    'false',
  ),
  inNames(
    'law 2: a shipment of another VIN hides the booking in doubt',
    "booking ? { is: 'in-doubt', booking } : resolution",
    'resolution',
  ),
  inNames(
    'law 2: two quotes in one call do not disagree',
    'id: thingKey(quote.id), shipments: []',
    "id: '', shipments: []",
  ),
  inNames(
    "law 4: a number of the service comes before the caller's own",
    'if (ofCaller.length > 0) {',
    "if (ofCaller.length > 0 && idsOf('service').length === 0) {",
  ),
  inResolve(
    'law 4: the name of a quote does not find its shipment',
    'quote.shipments.length > 0 ? quote.shipments : [quote.id]',
    '[quote.id]',
  ),
  inNames(
    'law 4: a newer quote under the name of a booking does not find its shipment',
    'named && named === rows[0] ? await bookedFrom(named.id) : []',
    '[]',
  ),
  inNames(
    'law 4: an id in another case is another id',
    '[...shipments.keys()].find((known) => isSameThing(known, id)) ?? stored?.id ?? id',
    'id',
  ),
  inNames('law 4: the service is not asked', 'mayAsk: isPlainId(value)', 'mayAsk: false'),
  inResolve(
    'law 5: a canceled shipment bears its names beside another one',
    'return live.length > 0 ? live : ids.slice(0, 1)',
    'return ids',
  ),
  inNames('law 5: a read of this call does not count', "isGone: state !== 'live'", 'isGone: false'),
  inResolve(
    'no VIN, one shipment: the first of several vehicles is changed',
    "(use === 'update' && changesVehicle && vehiclesOf(newest).length > 1)",
    'false',
  ),
  inResolve(
    'no VIN, several shipments: a cancellation takes the newest',
    "return isAmbiguous && use !== 'read'",
    "return isAmbiguous && use === 'update'",
  ),
  inResolve(
    'no VIN, several shipments: a read shows the oldest',
    'const [newest, ...others] = candidates\n',
    'const [newest, ...others] = candidates.toReversed()\n',
  ),
  inResolve(
    'a vehicle of one of them: a cancellation of one vehicle cancels both',
    "(use !== 'cancel' || vehiclesOf(shipment).length < 2)",
    'true',
  ),
  inResolve(
    'a vehicle of one of them: the first vehicle is shown',
    "[{ shipment, entry, vin: 'own' }]",
    "[{ shipment, entry: 0, vin: 'own' }]",
  ),
  inResolve(
    'a vehicle of one of them: a former VIN is written back',
    "[{ shipment, entry, vin: 'former' }]",
    "[{ shipment, entry, vin: 'own' }]",
  ),
  inResolve(
    'a vehicle of one of them: a former VIN is forgotten',
    'if (!Object.hasOwn(shipment.formerVins, vin)) return []',
    'return []',
  ),
  inResolve('a vehicle without a VIN: it is not seen', 'candidates.flatMap(blankChoices)', '[]'),
  inResolve('a vehicle without a VIN: one of two shipments is guessed', 'if (blank && isOneShipment)', 'if (blank)'),
  inResolve(
    'one shipment of one vehicle: a cancellation overrules the VIN',
    "if (use === 'update' && hasOneVehicle)",
    'if (hasOneVehicle)',
  ),
  inResolve(
    'one shipment of one vehicle: an update does not change the VIN',
    "if (use === 'update' && hasOneVehicle)",
    'if (false)',
  ),
  inResolve(
    'anything else: the VIN of one of several vehicles is changed',
    'others.length === 0 && vehiclesOf(newest).length === 1',
    'others.length === 0',
  ),
  inResolve('anything else: a read is told to choose', "use === 'read' ? 'no-such-vehicle' : 'several'", "'several'"),
]

const ROOM = join(import.meta.dirname, '../../src/state/names')

/** Runs work with the room as it would be with a mistake. */
export async function withMistake<T>(
  { title, file, text, instead }: Mistake,
  work: (room: Room) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'transload-mistake-'))
  try {
    for (const name of ['names.ts', 'resolve.ts']) {
      let source = await readFile(join(ROOM, name), 'utf8')
      if (name === file) {
        if (source.split(text).length !== 2) throw new Error(`The source has no one place for: ${title}`)
        source = source.replace(text, () => instead)
      }
      const placed = source.replace(/(?<=from ')\.\.\/[^']+/g, (path) => pathToFileURL(join(ROOM, path)).href)
      await writeFile(join(folder, name), placed)
    }
    const load = (name: string) => import(/* @vite-ignore */ pathToFileURL(join(folder, name)).href)
    const [{ openNames }, { chooseVehicle }] = await Promise.all([load('names.ts'), load('resolve.ts')])
    return await work({ openNames, chooseVehicle })
  } finally {
    await rm(folder, { recursive: true })
  }
}
