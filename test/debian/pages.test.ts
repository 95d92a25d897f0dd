/** Promise: pages work on any device, without scripts, and by keyboard alone (contract, section 1). */

import axe from 'axe-core'
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { book } from '../bookings/desk.ts'
import { startGateway, type TestGateway } from '../gateway.ts'
import { pageOf, partOf } from '../pages/browser.ts'
import { fillCounts, HOSTILE } from '../pages/sample-counts.ts'
import { WHOLE } from '../size.ts'

const LONG_MS = 120_000

const MOST_BYTES = 120 * 1024

const FLAGS =
  '--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync'

const DEVICES: Readonly<Record<string, BrowserContextOptions>> = {
  desktop: { viewport: { width: 1280, height: 900 } },
  phone: { viewport: { width: 320, height: 740 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
}
const SCHEMES = ['light', 'dark'] as const
const LOOKS = Object.keys(DEVICES).flatMap((device) => SCHEMES.map((scheme) => ({ device, scheme })))
/** Returns all looks, or one of them as a sample. */
const looks = (sampled: number) => LOOKS.filter((_, nth) => WHOLE || nth === sampled)

/** The pages of tenants. */
const OF_TENANTS = ['/migration/acme', `/migration?tenant=${encodeURIComponent(HOSTILE)}`]

let browser: Browser
beforeAll(async () => {
  browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS.split(' ') })
})
afterAll(() => browser.close())

/** Opens a page in Chromium with a new profile, on a device. */
async function openPage(url: string, options: BrowserContextOptions = {}) {
  const context = await browser.newContext({ ...DEVICES['desktop'], ...options })
  onTestFinished(() => context.close())
  const page = await context.newPage()
  const complaints = complaintsOf(page)
  await page.goto(url)
  /** Follows a link or opens folded content by keyboard. */
  const enter = async (place: Locator) => {
    await place.focus()
    await page.keyboard.press('Enter')
  }
  return { context, page, complaints, enter }
}

/** A gateway with 70 days of counts, a booking and one with an unknown outcome. */
async function openFilled(): Promise<TestGateway> {
  const store = createMemoryStore()
  await fillCounts(store)
  const gateway = await startGateway({ store })
  await book(gateway)
  gateway.sandbox.fail({ kind: 'reset-before', on: { method: 'POST', path: '/v2/shipments' } })
  await book(gateway, { ReferenceNumber: '<b>hostile</b>' })
  return gateway
}

/** Collects all complaints of the browser, such as breaches of the content security policy. */
function complaintsOf(page: Page): readonly string[] {
  const complaints: string[] = []
  const complain = (text: string) => void complaints.push(text)
  page.on('console', (message) => complain(message.text()))
  page.on('pageerror', (error) => complain(error.message))
  page.on('requestfailed', (request) => complain(`failed: ${request.url()}`))
  page.on('response', (response) => response.status() >= 400 && complain(`${response.status()}: ${response.url()}`))
  page.on('dialog', (dialog) => {
    complain(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  return complaints
}

/** Lists the rules of accessibility that a page breaks, with the elements. */
const BREACHES =
  'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => ({ id, html: nodes.map(({ html }) => html) })))'

/** Opens pages with a look, one after the other, and checks them. */
async function checkPages(
  { device, scheme }: (typeof LOOKS)[number],
  urls: readonly string[],
  check: (page: Page, url: string) => Promise<void> = async () => {},
): Promise<void> {
  const { page, complaints } = await openPage('about:blank', { ...DEVICES[device], colorScheme: scheme })
  const folder = process.env['TRANSLOAD_SCREENSHOTS']
  for (const [i, url] of urls.entries()) {
    await page.goto(url)
    const { port } = new URL(url)
    if (folder) await page.screenshot({ fullPage: true, path: `${folder}/${port}-${device}-${scheme}-${i}.png` })
    const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
    expect(overflow, url).toBeLessThanOrEqual(0)
    expect(Buffer.byteLength(await page.content()), url).toBeLessThan(MOST_BYTES)
    await check(page, url)
    // The page's own complaints come first, because the tester may load things that the policy forbids.
    expect(complaints, url).toEqual([])
    await page.evaluate(axe.source)
    expect(await page.evaluate(BREACHES), url).toEqual([])
  }
}

test.each(looks(3))('the pages are sound on a $device, $scheme', { timeout: LONG_MS }, async (look) => {
  const gateway = await openFilled()
  const { adminUrl, store } = gateway
  const navigation = partOf(await pageOf(gateway, '/'), /<nav (.*?)<\/nav>/s)
  const listed = [...navigation.matchAll(/ href="(.*?)"/g)].map(([, path = '']) => path)
  expect(listed).toEqual(expect.arrayContaining(['/', '/bookings']))
  const [unknown] = await store.listClaims({ state: 'unknown' })
  const event = { tenant: 'acme', shipment: 'S-1', event: '<b>hostile</b>', date: '2026-03-01T10:00:00Z', digest: 'd' }
  const { id } = await store.takeEvent({ ...event, payload: '{"event":"<b>hostile</b>"}', deliver: true })
  const urls = [...listed, ...OF_TENANTS, `/bookings/${unknown?.handle}`, `/events/${id}`].map(
    (path) => adminUrl + path,
  )
  await checkPages(look, urls, async (page, url) => {
    // A foreign element or attribute would come from a hostile name.
    const foreign = page.locator(
      'img, script:not([src="/pages.js"]), iframe, object, b:text-is("hostile"), [style]:not([style=""]), [onerror]',
    )
    expect(await foreign.count(), url).toBe(0)
    const background = await page.evaluate('getComputedStyle(document.body).backgroundColor')
    const height = await page.evaluate('document.documentElement.scrollHeight')
    if (look.device === 'desktop') expect(height, url).toBeLessThan(6_000)
    expect(background, url).toBe(look.scheme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(16, 19, 23)')
  })
})

test.each(looks(2))('the pages for visitors are sound on a $device, $scheme', { timeout: LONG_MS }, async (look) => {
  const { url } = await startGateway({ serviceUrl: 'https://service.example.com' })
  await checkPages(
    look,
    ['/', '/?example=shipment.update', '/?body=POST+/createShipment.php%0A%0AYear%3Dx', '/reference', '/guide'].map(
      (path) => url + path,
    ),
  )
})

test('the pages work without scripts, and by keyboard alone', { timeout: LONG_MS }, async () => {
  const gateway = await openFilled()
  const options = { javaScriptEnabled: false }
  const { page, complaints, enter } = await openPage(`${gateway.adminUrl}/migration`, options)
  // The first stop skips the navigation.
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.waitForURL(/#content$/)
  await enter(page.getByRole('link', { name: 'acme' }))
  await page.waitForURL(/\/migration\/acme$/)
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('acme moving')
  await enter(page.getByText('The same as a table'))
  expect(await page.getByRole('table', { name: /Calls by day/ }).isVisible()).toBe(true)
  await enter(page.getByRole('link', { name: 'Bookings' }))
  await page.waitForURL(/\/bookings$/)
  await enter(page.getByRole('link', { name: /^bk_/ }).first())
  await page.waitForURL(/\/bookings\/bk_/)
  expect(await page.getByText('--not-booked').count()).toBe(1)
  expect(complaints).toEqual([])
})

test('the workbench translates during typing, and the reference can be searched', { timeout: LONG_MS }, async () => {
  const { url, sandbox } = await startGateway()
  const { context, page, complaints } = await openPage(url)
  const body = page.getByRole('textbox', { name: 'A version-1 request' })
  const path = page.getByRole('combobox', { name: 'Path' })
  const shows = (text: string) => page.getByText(text).first().waitFor()
  const quote = async (TempShipFromPostalCode: string) => {
    await body.fill(JSON.stringify({ ActionName: 'Get Rate', TempShipFromPostalCode, TempShipToPostalCode: '33166' }))
    await shows(`"${TempShipFromPostalCode}"`)
  }
  await quote('98101')
  await body.fill('POST /getShippingQuote.php\n\n{"pickup":"1"}')
  await shows('comes back unchanged')
  await body.fill('<script>alert(1)</script>')
  await shows('neither a JSON object')
  await quote('60601')
  await path.selectOption('/deleteShipment.php')
  await shows('Would be refused: 422')
  await path.selectOption('as the fields suggest')
  // The path or ActionName of a pasted call is shown, and nothing of the previous call.
  await body.fill(`curl http://localhost/createShipment.php -d '{"PickupZip":"x"}'`)
  await shows('Would be refused: 422')
  expect(await page.locator('#marks .is-problem').textContent()).toBe('"PickupZip":"x"')
  expect(await page.locator('[aria-current=true]').textContent()).toBe('shipment.create')
  expect(await page.getByText('Transportation booked').count()).toBe(0)
  await quote('60602')
  const other = await context.newPage()
  await other.goto(`${url}/reference`)
  const search = other.getByRole('searchbox')
  const heading = other.getByRole('heading', { name: 'Book a shipment' })
  await search.fill('TempShipFromPostalCode')
  await other.getByRole('cell', { name: 'PickupZip' }).first().waitFor({ state: 'hidden' })
  await heading.waitFor({ state: 'hidden' })
  await search.fill('no such field')
  await other.getByText('No fields match.').waitFor()
  await search.fill('')
  await heading.waitFor()
  expect(complaints).toEqual([])
  expect(sandbox.requests).toEqual([])
  await body.fill('x'.repeat(MOST_BYTES))
  await shows('Not translated. The body is larger')
  expect(await page.getByText('60602').count()).toBe(0)
})

test('a field and its place light up together, both on the screen', { timeout: LONG_MS }, async () => {
  const { url } = await startGateway()
  const { page } = await openPage(`${url}/?example=shipment.create`)
  await page.evaluate('document.getElementById("version2").scrollIntoView()')
  const places = page.locator('#version2 a[data-n]')
  const count = await places.count()
  expect(count).toBeGreaterThan(20)
  for (let at = 0; at < count; at += 1) {
    await places.nth(at).hover()
    const number = await places.nth(at).getAttribute('data-n')
    const lit = `[...document.querySelectorAll('#version2 .lit, #marks .lit')].map((one) => {
      const { top, bottom } = one.getBoundingClientRect()
      return [one.closest('#marks') ? 'field' : 'place', top >= 0 && bottom <= innerHeight]
    })`
    const field = page.locator(`#marks [data-n~="${number}"]`)
    // The default has no field.
    const expected = (await field.count()) === 0 ? [] : [['field', true]]
    expect(await page.evaluate(lit)).toEqual([...expected, ['place', true], ['place', true]])
  }
  // A row, too.
  await page.getByRole('cell', { name: 'VinNo' }).hover()
  expect(await page.locator('#marks .lit').textContent()).toContain('"VinNo"')
})

test('the workbench works without scripts, and by keyboard alone', { timeout: LONG_MS }, async () => {
  const { url } = await startGateway()
  const { page, enter } = await openPage(url, { javaScriptEnabled: false })
  await enter(page.getByRole('link', { name: 'shipment.cancel' }))
  await page.waitForURL(/example=shipment.cancel/)
  const body = page.getByRole('textbox', { name: 'A version-1 request' })
  await body.focus()
  await page.keyboard.press('Control+A')
  await page.keyboard.type('POST /deleteShipment.php\n\nReferenceNumber=R-77')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByText('{shipment_id of R-77}').first().waitFor()
  await enter(page.getByText('PHP', { exact: true }))
  expect(await page.getByText('CURLOPT_CUSTOMREQUEST').isVisible()).toBe(true)
})
