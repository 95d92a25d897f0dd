/** Promise: `auth rehearse` tells what the service accepts, and changes nothing (contract, section 5). */

import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { folder, known, tenant, writeTenants } from '../callers/edge.ts'
import { CLIENT, OWN } from '../gateway.ts'
import { startSandbox } from '../stand-in/stand-in.ts'
import { transcript } from './transcript.ts'

test('the rehearsal tells for every tenant what the service accepts', async () => {
  const place = folder()
  const credentials = { ...known('acme', 'a-longer-name'), [CLIENT.id]: CLIENT.secret }
  const services = {
    both: await startSandbox({ credentials }),
    tokens: await startSandbox({ credentials, auth: 'bearer' }),
    basic: await startSandbox({ credentials, auth: 'basic' }),
  }
  onTestFinished(async () => void (await Promise.all(Object.values(services).map((service) => service.close()))))
  const other = { v2: { base_url: services.tokens.url } }
  writeTenants(
    join(place, 'tenants.json'),
    tenant(place, 'acme'),
    tenant(place, 'a-longer-name', other),
    tenant(place, 'stranger'),
  )
  const told: string[] = []
  for (const [name, { url }] of Object.entries(services))
    told.push(`${name}\n${await transcript(place, ['auth rehearse'], { ...OWN, V2_BASE_URL: url })}`)
  services.both.fail({ kind: 'status', status: 500, times: 'always' })
  const env = { V2_BASE_URL: services.basic.url, TENANTS_FILE: 'tenants.json' }
  told.push(`tenants\n${await transcript(place, ['auth rehearse'], env)}`)
  const failing = { ...OWN, V2_BASE_URL: services.both.url }
  told.push(`failing\n${await transcript(place, ['auth rehearse'], failing)}`)
  await expect(told.join('\n')).toMatchFileSnapshot('output/auth.txt')
})
