import { html } from 'hono/html'
import type { Answer } from '../../language/answer.ts'
import type { CompiledAction } from '../../language/mapping/compile.ts'
import type { GatewayRooms } from '../../routes.ts'
import { shortSummary } from '../words.ts'
import { type Html, publicPage, table } from './layout.ts'
import { servedPaths } from './reference.ts'

/** Says which credential new code uses at the service: what a caller has may be good at the gateway only. */
export function credentialAdvice(mode: GatewayRooms['callers']['mode'], contact: string | undefined): Html {
  const ask = contact === undefined ? 'the operator of this gateway' : contact
  switch (mode) {
    case 'client':
      return html`Your Client ID and Client Secret stay the same: send them as <code>Authorization: Basic</code>. If you have none, ask the service's operator.`
    case 'tenants':
      return html`Your version-1 credential works only at this gateway. Ask ${ask} for a Client ID and a Client Secret for the service. Until you have them, send version-2 calls to the <code>/v2/</code> paths of this gateway with the credential that you use now.`
    case 'fixed':
      return html`This gateway uses its own credential for all callers. Ask ${ask} for a Client ID and a Client Secret for the service. Until you have them, send version-2 calls to the <code>/v2/</code> paths of this gateway, without a credential.`
    default:
      return mode satisfies never
  }
}

/** Answers `/guide`: how a developer moves to version 2. */
export function guidePage({ catalog, config, address, callers, store }: GatewayRooms): Promise<Answer> {
  const { origin, prefix } = address
  const end = config.RETIRED_FROM ?? config.SUNSET
  const isOver = config.RETIRED_FROM !== undefined && config.RETIRED_FROM.getTime() <= store.now()
  const day = end && html`<b>${end.toISOString().slice(0, 'yyyy-mm-dd'.length)}</b>`
  const answers = isOver
    ? html`This gateway has refused version-1 calls since ${day}.`
    : html`This gateway answers version-1 calls ${day ? html`until ${day}` : 'for now'}.`
  return publicPage(
    'Guide',
    html`<h1>Moving to version 2</h1>
<p class="lead">${answers} To move, change the address, path, body and response handling, one call at a time.</p>
<ol class="steps">
<li><h2>Get a credential</h2><p>${credentialAdvice(callers.mode, config.SUPPORT_CONTACT)}</p></li>
<li><h2>Call the service's address</h2><p><code>${origin}${prefix}</code> instead of the old host.</p></li>
<li><h2>Replace each call</h2>${table<CompiledAction>(
      'Calls',
      [
        ['Version 1', ({ action }) => html`<code>${servedPaths(action, config)[0]}</code>`],
        ['Version 2', ({ action }) => html`<code>${action.service.method} ${action.service.path}</code>`],
        ['Try it', ({ action }) => html`<a href="/?example=${action.name}">${shortSummary(action)}</a>`],
      ],
      [...catalog.actions.values()],
    )}<p>Paste your own request into the <a href="/">workbench</a>: it shows the new body field by field, and the code in seven languages. The <a href="/reference">reference</a> has every field. <a href="/my">Your migration</a> (<code>/my</code>) shows your own calls as code, and what blocks each one.${callers.mode !== 'fixed' && ' It asks for your version-1 credential.'}</p></li>
<li><h2>Keep the ids</h2><p>Version 2 identifies quotes and shipments by its own ids. Store the <code>shipment_id</code> or <code>id</code> from each reply; your own number goes into <code>external_id</code>. <a href="/my/numbers.csv">numbers.csv</a> has the ids for the numbers that you use now.</p></li>
<li><h2>Handle errors by status</h2><p>Any status other than 2xx is an error. After a timeout, look for the shipment at the service before you book again.</p></li>
<li><h2>Test, then switch</h2><p>First, point the new code at this gateway's <code>/check</code>, with the same credential. Nothing is sent to the service, and <code>/check/last</code> says what differs from your last dry run. Then use the service's test address. The gateway also accepts version-2 bodies and <code>/v2/</code> paths, so you can move one call at a time.</p></li>
<li><h2>Stay informed</h2><p>The current version is 2.0.0. The service's newsletter announces an update two months before its release, and deprecations and shutdowns first.</p></li>
</ol>`,
  )
}
