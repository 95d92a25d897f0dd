import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { vehicleTypes } from '../../mappings/vehicle-types.ts'
import type { Place } from './contenders.ts'
import { cores, freePort, HOST, type Running, startServer } from './processes.ts'

/** Starts HAProxy in front of the service: it passes `/v2/` through, and Lua translates quotes if it has a JSON library. */
export async function startHaproxy({ folder, servicePort }: Place, json: string | undefined): Promise<Running> {
  const port = await freePort()
  const programs = join(import.meta.dirname, 'contenders')
  copyFileSync(join(programs, 'translate.lua'), join(folder, 'translate.lua'))
  writeFileSync(join(folder, 'vehicle-types.json'), JSON.stringify(vehicleTypes))
  const file = join(folder, 'haproxy.cfg')
  writeFileSync(
    file,
    `global
  nbthread 1
  maxconn 4096
  ${json ? `lua-load ${join(programs, 'haproxy.lua')}` : ''}
defaults
  mode http
  timeout connect 5s
  timeout client 1h
  timeout server 1h
  http-reuse always
frontend callers
  bind ${HOST}:${port}
  ${json ? 'http-request use-service lua.quote if { path /getShippingQuote.php }' : ''}
  default_backend service
backend service
  server service ${HOST}:${servicePort}
`,
  )
  const env = { BENCH_FOLDER: folder, BENCH_LUA_CPATH: json ?? '', BENCH_SERVICE: `http://${HOST}:${servicePort}` }
  return startServer(port, ['haproxy', '-db', '-q', '-f', file], { core: cores.contender, env })
}
