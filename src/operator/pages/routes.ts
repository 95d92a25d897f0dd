import type { IncomingMessage } from 'node:http'
import { welcome } from '../../edge/answers.ts'
import { explained } from '../../edge/body/receive.ts'
import { PAGE, READY_MADE } from '../../edge/door.ts'
import { requireMethod } from '../../edge/routing.ts'
import type { GatewayRooms, Pages } from '../../gateway.ts'
import type { Answer } from '../../language/answer.ts'
import { COPY_PATH, copyScript, STYLE_PATH, style } from './fixed.ts'
import type { OperatorRooms } from './home.ts'
import { adminShell, errorPage, ownPage, publicPage, queryOf, SCRIPT_PATH, wantsHtml } from './layout.ts'
import { openApiAnswer } from './open-api.ts'
import { openWatch } from './watch.ts'

/* The pages of both listeners, as routes. Each module of pages is loaded when one of its pages is asked for. */

const workbench = () => import('./workbench.ts')
const ownPages = () => import('./my.ts')
const homePages = () => import('./home.ts')
const bookingPages = () => import('./bookings.ts')
const eventPages = () => import('./events.ts')

/** The most that a visitor may paste; a browser writes JSON in twice its length. */
const PASTED_BYTES = 32 * 1024

type PublicPage = Pages['public'][number]
type AdminPage = (incoming: IncomingMessage, rooms: OperatorRooms, parameter: string) => Promise<Answer>

/** Makes the pages of a gateway. */
export function createPages(pageRooms: GatewayRooms): Pages {
  const { config, catalog, mostExplainedBytes } = pageRooms
  const show = adminShell(config.V2_BASE_URL.origin)
  const rooms = { ...pageRooms, show, watch: openWatch(pageRooms.metrics, pageRooms.store.now) }
  const description = openApiAnswer(catalog, config.LEGACY_BASE_PATHS)
  const page = (path: string, answer: PublicPage['answer']): PublicPage => ({ path, demands: PAGE, answer })
  const readyMade = (path: string, answer: PublicPage['answer']) => ({
    path,
    demands: { ...READY_MADE, methods: ['GET'] } as const,
    answer,
  })
  /** A page of the admin listener is at its path, and as JSON at another. */
  const admin = <Name extends string>(
    paths: readonly string[],
    load: () => Promise<Readonly<Record<Name, AdminPage>>>,
    name: Name,
  ): Pages['admin'] =>
    paths.map((path) => ({
      path,
      answer: async (incoming, parameter = '') => (await load())[name](incoming, rooms, parameter),
    }))
  const forVisitors: readonly PublicPage[] = [
    {
      path: '/',
      demands: {
        ...PAGE,
        methods: ['GET', 'POST'],
        body: explained(Math.min(mostExplainedBytes, PASTED_BYTES), (bytes) => bytes),
      },
      answer: async (incoming, bytes) => {
        if (!wantsHtml(incoming)) {
          requireMethod(incoming.method, ['GET'])
          return welcome
        }
        const sent = incoming.method === 'POST' ? new URLSearchParams(String(bytes)) : queryOf(incoming)
        return (await workbench()).workbenchPage(rooms, sent)
      },
    },
    page('/reference', async () => (await import('./reference.ts')).referencePage(rooms)),
    page('/guide', async () => (await import('./guide.ts')).guidePage(rooms)),
    page(SCRIPT_PATH, async () => (await workbench()).script),
  ]

  return {
    public: [
      readyMade('/openapi.json', ({ headers }) => description(headers['accept-encoding']?.toString())),
      readyMade(STYLE_PATH, () => style),
      readyMade(COPY_PATH, () => copyScript),
      // A caller's own migration, for who has its credential.
      page('/my', async (incoming, _bytes, { call }) => {
        const answer = await (await ownPages()).ownMigration(incoming, call, rooms)
        call.request.share.holdAnswer(Buffer.byteLength(answer.body))
        return answer
      }),
      page('/my/numbers.csv', async (incoming, _bytes, { call, outgoing }) => {
        await (await ownPages()).ownNumbers(incoming, outgoing, call, rooms)
        return undefined
      }),
      ...(config.WORKBENCH === 'on'
        ? forVisitors
        : ['/', '/reference', '/guide'].map((path) => readyMade(path, () => welcome))),
    ],
    admin: [
      { path: STYLE_PATH, answer: () => style },
      { path: COPY_PATH, answer: () => copyScript },
      ...admin(['/', '/home.json'], homePages, 'home'),
      ...admin(['/settings', '/settings.json'], homePages, 'settings'),
      ...admin(['/bookings', '/bookings.json'], bookingPages, 'bookings'),
      ...admin(['/bookings/:handle'], bookingPages, 'booking'),
      ...admin(['/events', '/events.json'], eventPages, 'events'),
      ...admin(['/events/:id'], eventPages, 'event'),
      ...admin(['/migration', '/migration.json', '/migration/:tenant'], () => import('./migration.ts'), 'migration'),
    ],
    publicError: (incoming, error) => {
      const path = (incoming.url ?? '').split('?', 1)[0] ?? ''
      // A version-1 caller may accept HTML, too: it gets the shape that it knows.
      const isOfPage = path === '/my' || (error.code === 'path-unknown' && !/\.php/i.test(path))
      if (!isOfPage || incoming.method !== 'GET' || !wantsHtml(incoming)) return undefined
      return errorPage(config.WORKBENCH === 'on' ? publicPage : ownPage, error)
    },
    close: rooms.watch.close,
    adminError: (incoming, error) => (wantsHtml(incoming) ? errorPage(show, error) : undefined),
  }
}
