import { copyFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { vehicleTypes } from '../../mappings/vehicle-types.ts'
import { HOST, type Running, startServer } from './processes.ts'

/** HAProxy before the service: `/v2/` as it is, quotes translated by Lua where it finds a JSON library for that. */
export function startHaproxy(
  place: { readonly folder: string; readonly port: number; readonly servicePort: number; readonly core: string },
  json: string | undefined,
): Promise<Running> {
  const { folder, port, servicePort, core } = place
  const programs = join(import.meta.dirname, 'contenders')
  copyFileSync(join(programs, 'translate.lua'), join(folder, 'translate.lua'))
  writeFileSync(join(folder, 'vehicle-types.json'), JSON.stringify(vehicleTypes))
  const quotes = `
backend quotes
  option http-buffer-request
  http-request set-path /v2/quote
  http-request lua.quote_request
  filter lua.replace_body
  http-response wait-for-body time 5s
  http-response lua.quote_reply if { status 200 }
  http-response return status 200 content-type application/json lf-string "%[var(txn.reply)]" if { status 200 }
  server service ${HOST}:${servicePort}
`
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
  ${json ? 'use_backend quotes if { path /getShippingQuote.php }' : ''}
  default_backend service
backend service
  server service ${HOST}:${servicePort}
${json ? quotes : ''}`,
  )
  const env = { BENCH_FOLDER: folder, BENCH_LUA_CPATH: json ?? dirname(file) }
  return startServer(port, ['haproxy', '-db', '-q', '-f', file], { core, env })
}
