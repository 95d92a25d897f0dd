import { welcome } from '../../edge/answers.ts'
import { explained } from '../../edge/body/receive.ts'
import { PAGE, READY_MADE } from '../../edge/door.ts'
import { requireMethod } from '../../edge/routing.ts'
import type { Answer } from '../../language/answer.ts'
import type { GatewayRooms, Pages } from '../../routes.ts'
import { COPY_PATH, copyScript, STYLE_PATH, style } from './fixed.ts'
import { adminShell, errorPage, ownPage, publicPage, queryOf, SCRIPT_PATH, wantsHtml } from './layout.ts'
import { openWatch } from './watch.ts'

/* The pages of both listeners, as routes. */

const late = () => import('./late.ts')

/** The most that a visitor may paste; a browser writes JSON in twice its length. */
const PASTED_BYTES = 32 * 1024

/** The pages whose errors are pages, too. */
const OWN_PAGES: ReadonlySet<string> = new Set(['/', '/my', '/reference', '/guide'])

type PublicPage = Pages['public'][number]

/** Makes the pages of a gateway. */
export function createPages(pageRooms: GatewayRooms): Pages {
  const { config, catalog, mostExplainedBytes } = pageRooms
  const show = adminShell(config.V2_BASE_URL.origin)
  const rooms = { ...pageRooms, show, watch: openWatch(pageRooms.metrics) }
  let description: Promise<Answer> | undefined
  const page = (path: string, answer: PublicPage['answer']): PublicPage => ({ path, demands: PAGE, answer })
  const readyMade = (path: string, answer: PublicPage['answer']): PublicPage => ({
    path,
    demands: { ...READY_MADE, methods: ['GET'] },
    answer,
  })
  /** A page for operators; one without a parameter is at a second path, too, as JSON. */
  const admin = (
    name: 'home' | 'settings' | 'bookings' | 'booking' | 'events' | 'event' | 'migration',
    ...paths: readonly string[]
  ): Pages['admin'] =>
    paths.map((path) => ({
      path,
      answer: async (incoming, parameter = '') => (await late())[name](incoming, rooms, parameter),
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
        // A form of the page. Anything else that is posted here has lost its path.
        if (!wantsHtml(incoming)) requireMethod(incoming.method, ['GET'])
        const sent = incoming.method === 'POST' ? new URLSearchParams(String(bytes)) : queryOf(incoming)
        return (await late()).workbenchPage(rooms, sent)
      },
    },
    page('/reference', async () => (await late()).referencePage(rooms)),
    page('/guide', async () => (await late()).guidePage(rooms)),
    page(SCRIPT_PATH, async () => (await late()).script),
  ]

  return {
    public: [
      readyMade('/openapi.json', () => {
        description ??= late().then(({ openApiAnswer }) => openApiAnswer(catalog, config.LEGACY_BASE_PATHS))
        return description
      }),
      readyMade(STYLE_PATH, () => style),
      readyMade(COPY_PATH, () => copyScript),
      // A caller's own migration, for who has its credential.
      page('/my', async (incoming, _bytes, { call }) => {
        const answer = await (await late()).ownMigration(incoming, call, rooms)
        call.request.share.holdAnswer(Buffer.byteLength(answer.body))
        return answer
      }),
      page('/my/numbers.csv', async (incoming, _bytes, { call, outgoing }) => {
        await (await late()).ownNumbers(incoming, outgoing, call, rooms)
        return undefined
      }),
      ...(config.WORKBENCH === 'on'
        ? forVisitors
        : ['/', '/reference', '/guide'].map((path) => readyMade(path, () => welcome))),
    ],
    admin: [
      { path: STYLE_PATH, answer: () => style },
      { path: COPY_PATH, answer: () => copyScript },
      ...admin('home', '/', '/home.json'),
      ...admin('settings', '/settings', '/settings.json'),
      ...admin('bookings', '/bookings', '/bookings.json'),
      ...admin('booking', '/bookings/:name'),
      ...admin('events', '/events', '/events.json'),
      ...admin('event', '/events/:name'),
      ...admin('migration', '/migration', '/migration.json', '/migration/:name'),
    ],
    publicError: (incoming, error) => {
      const path = (incoming.url ?? '').split('?', 1)[0] ?? ''
      // A version-1 caller may accept HTML, too: it gets the shape that it knows.
      const isUnknown = incoming.method === 'GET' && error.code === 'path-unknown' && !/\.php/i.test(path)
      if (!(isUnknown || OWN_PAGES.has(path)) || !wantsHtml(incoming)) return undefined
      return errorPage(config.WORKBENCH === 'on' ? publicPage : ownPage, error)
    },
    close: rooms.watch.close,
    adminError: (incoming, error) => (wantsHtml(incoming) ? errorPage(show, error) : undefined),
  }
}
