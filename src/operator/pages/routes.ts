import { explained } from '../../edge/body/demands.ts'
import { PAGE, READY_MADE } from '../../edge/door.ts'
import { welcome } from '../../edge/probes.ts'
import type { PageRooms, Pages } from '../../gateway.ts'
import type { Answer } from '../../language/answer.ts'
import { COPY_PATH, copyScript, STYLE_PATH, style } from './fixed.ts'
import { adminShell, errorPage, publicPage, SCRIPT_PATH, wantsHtml } from './layout.ts'
import { openApiAnswer } from './open-api.ts'
import { openWatch } from './watch.ts'

/* The pages of both listeners, as routes. Each module of pages is loaded when one of its pages is asked for. */

const workbench = () => import('./workbench.ts')
const reference = () => import('./reference.ts')
const ownPages = () => import('./my.ts')
const migrationPages = () => import('./migration.ts')
const homePages = () => import('./home.ts')
const bookingPages = () => import('./bookings.ts')
const eventPages = () => import('./events.ts')

/** The most that a visitor may paste; a browser writes JSON in twice its length. */
const PASTED_BYTES = 32 * 1024

/** Data of later pages are read once the answer is on its way. */
const AFTER_ANSWER_MS = 50

/** Makes the pages of a gateway. */
export function createPages(rooms: PageRooms): Pages {
  const { config, catalog, callers, mostExplainedBytes } = rooms
  const deps = {
    ...rooms,
    destination: rooms,
    sunset: config.RETIRED_FROM ?? config.SUNSET,
    tenants: callers.tenants,
    mode: callers.mode,
    support: config.SUPPORT_CONTACT,
    brownouts: callers.brownouts,
    show: adminShell(config.V2_BASE_URL.origin),
    watch: openWatch(rooms.metrics, rooms.store.now),
  }
  const description = openApiAnswer(catalog, config.LEGACY_BASE_PATHS)
  const openApi = {
    path: '/openapi.json',
    demands: READY_MADE,
    answer: ({ headers }) => description(headers['accept-encoding']?.toString()),
  } as const satisfies Pages['public'][number]
  const pasted = {
    ...PAGE,
    methods: ['GET', 'POST'],
    body: explained(Math.min(mostExplainedBytes, PASTED_BYTES), (bytes) => bytes),
  } as const

  const migration = (path: string): Pages['admin'][number] => ({
    path,
    answer: async (incoming, tenant) => (await migrationPages()).migrationAnswer(incoming, tenant, deps),
  })
  /** A page is at its path, and as JSON at the same with an ending. */
  const both = (path: string, json: string, answer: Pages['admin'][number]['answer']): Pages['admin'] => [
    { path, answer },
    { path: json, answer },
  ]

  return {
    public: [
      openApi,
      { path: STYLE_PATH, demands: READY_MADE, answer: () => style },
      { path: COPY_PATH, demands: READY_MADE, answer: () => copyScript },
      // A caller's own migration, for who has its credential.
      {
        path: '/my',
        demands: PAGE,
        answer: async (incoming, _bytes, { call }) => {
          const answer = await (await ownPages()).ownMigration(incoming, call, deps)
          call.request.share.holdAnswer(Buffer.byteLength(answer.body))
          return answer
        },
      },
      {
        path: '/my/numbers.csv',
        demands: PAGE,
        answer: async (incoming, _bytes, { call, outgoing }) => {
          await (await ownPages()).ownNumbers(incoming, outgoing, call, deps)
          return undefined
        },
      },
      ...((config.WORKBENCH === 'on'
        ? [
            {
              path: '/',
              demands: pasted,
              answer: async (incoming, bytes) => {
                if (!wantsHtml(incoming)) return welcome
                const sent = incoming.method === 'POST' ? String(bytes) : (incoming.url ?? '').split('?')[1]
                return (await workbench()).workbenchPage(deps, new URLSearchParams(sent))
              },
            },
            { path: '/reference', demands: PAGE, answer: async () => (await reference()).referencePage(deps) },
            { path: '/guide', demands: PAGE, answer: async () => (await import('./guide.ts')).guidePage(deps) },
            { path: SCRIPT_PATH, demands: PAGE, answer: async () => (await workbench()).script },
          ]
        : [{ path: '/', demands: READY_MADE, answer: () => welcome }]) satisfies Pages['public']),
    ],
    admin: [
      { path: STYLE_PATH, answer: (): Answer => style },
      { path: COPY_PATH, answer: (): Answer => copyScript },
      ...['/migration', '/migration.json', '/migration/:tenant'].map(migration),
      ...both('/', '/home.json', async (incoming) => {
        const answer = await (await homePages()).home(incoming, deps)
        // The first view of the migration page finds it.
        setTimeout(
          async () => (await migrationPages()).overviewOf(deps).catch(() => undefined),
          AFTER_ANSWER_MS,
        ).unref()
        return answer
      }),
      ...both('/settings', '/settings.json', async (incoming) => (await homePages()).settings(incoming, deps)),
      ...both('/bookings', '/bookings.json', async (incoming) => (await bookingPages()).bookings(incoming, deps)),
      {
        path: '/bookings/:handle',
        answer: async (incoming, handle = '') => (await bookingPages()).booking(incoming, handle, deps),
      },
      ...both('/events', '/events.json', async (incoming) => (await eventPages()).events(incoming, deps)),
      { path: '/events/:id', answer: async (incoming, id = '') => (await eventPages()).event(incoming, id, deps) },
    ],
    publicError: (incoming, error) => {
      const path = (incoming.url ?? '').split('?', 1)[0] ?? ''
      // A version-1 caller may accept HTML, too: it gets the shape that it knows.
      const isOfPage = path === '/my' || (error.code === 'path-unknown' && !/\.php/i.test(path))
      if (!isOfPage || incoming.method !== 'GET' || !wantsHtml(incoming)) return undefined
      return errorPage(publicPage, error)
    },
    close: deps.watch.close,
    adminError: (incoming, error) => (wantsHtml(incoming) ? errorPage(deps.show, error) : undefined),
  }
}
