import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { shipmentExample } from '../../mappings/booking-rows.ts'
import { vehicleTypes } from '../../mappings/vehicle-types.ts'
import type { Place } from './contenders.ts'
import { cores, freePort, HOST, type Running, startServer } from './processes.ts'

const CONNECTIONS = 4096
const KEPT_CONNECTIONS = 128
const FOREVER = 'keepalive_requests 1000000000; keepalive_timeout 1h; keepalive_time 24h;'

/** Returns the beginning of every nginx configuration here: one worker. */
function general(folder: string, modules: readonly string[]): string {
  // If root starts it, the worker would run as another user, who may not read the folder.
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  return `${modules.join('\n')}
${user} daemon off; worker_processes 1; pid ${join(folder, 'nginx.pid')}; error_log stderr error;
events { worker_connections ${CONNECTIONS}; }`
}

/** Starts a stub of the service, faster than every contender: constant answers, except for ids and numbers, which never repeat. */
export async function startStub(folder: string): Promise<Running> {
  const port = await freePort()
  const shipment = (id: string) => JSON.stringify({ ...shipmentExample, external_id: null, id, number: `TL-${id}` })
  writeFileSync(
    join(folder, 'nginx.conf'),
    `${general(folder, [])}
http {
  access_log off; default_type application/json; ${FOREVER}
  map $request_id $uuid { "~^(.{8})(.{4})(.{4})(.{4})(.{12})$" "$1-$2-$3-$4-$5"; }
  server {
    listen ${HOST}:${port} backlog=${CONNECTIONS};
    location = /v2/quote { return 200 '{"shipment_id":"$uuid","price":1234.5}'; }
    location = /v2/shipments { return 201 '${shipment('$uuid')}'; }
    location ~ ^/v2/shipments/(?<read>[^/]+)$ { return 200 '${shipment('$read')}'; }
    location / { return 404; }
  }
}`,
  )
  return startServer(port, nginxCommand(folder), { core: cores.stub })
}

/** Starts nginx in front of the service: it passes `/v2/` through, and Lua translates quotes if it is installed. */
export async function startNginx(place: Place, modules: readonly string[] | undefined): Promise<Running> {
  const { folder } = place
  const port = await freePort()
  writeFileSync(join(folder, 'nginx.conf'), contender(place, port, modules, 'nginx.lua'))
  return startServer(port, nginxCommand(folder), { core: cores.contender })
}

/** Starts nginx with Lua and Redis, which has each quote on the disk before it is answered; both on one core. */
export async function startNginxRedis(place: Place, modules: readonly string[]): Promise<Running> {
  const { folder } = place
  const port = await freePort()
  const socket = join(folder, 'redis.sock')
  writeFileSync(
    join(folder, 'redis.conf'),
    `port 0\nunixsocket ${socket}\ndir ${folder}\nsave ""\nappendonly yes\nappendfsync always\n`,
  )
  writeFileSync(
    join(folder, 'nginx.conf'),
    contender(place, port, modules, 'nginx-redis.lua', `set $redis_socket ${socket};`),
  )
  const both = `trap 'kill $redis $nginx' TERM
    redis-server ${join(folder, 'redis.conf')} >/dev/null & redis=$!
    while [ ! -S ${socket} ]; do sleep 0.05; done
    ${nginxCommand(folder).join(' ')} & nginx=$!
    wait $nginx; wait $nginx $redis; exit 0`
  return startServer(port, ['sh', '-c', both], { core: cores.contender })
}

const nginxCommand = (folder: string) => ['nginx', '-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr']

/** Returns the configuration of nginx as a contender, with a program for quotes. */
function contender(
  { folder, servicePort }: Place,
  port: number,
  modules: readonly string[] | undefined,
  program: string,
  settings = '',
): string {
  const programs = join(import.meta.dirname, 'contenders')
  copyFileSync(join(programs, 'translate.lua'), join(folder, 'translate.lua'))
  writeFileSync(join(folder, 'vehicle-types.json'), JSON.stringify(vehicleTypes))
  const lua = `
  lua_package_path "${folder}/?.lua;;";
  init_by_lua_block { require("translate").load("${folder}/vehicle-types.json") }`
  const quotes = `
    location = /getShippingQuote.php { ${settings} content_by_lua_file ${join(programs, program)}; }
    location /service/ { internal; proxy_pass http://service/; }`
  return `${general(folder, modules ?? [])}
http {
  access_log off; ${FOREVER} ${modules ? lua : ''}
  upstream service { server ${HOST}:${servicePort}; keepalive ${KEPT_CONNECTIONS}; ${FOREVER} }
  server {
    listen ${HOST}:${port} backlog=${CONNECTIONS};
    client_max_body_size 0; client_body_buffer_size 16k;
    proxy_http_version 1.1; proxy_set_header Connection ""; proxy_request_buffering off; proxy_max_temp_file_size 0;
    location /v2/ { proxy_pass http://service; }${modules ? quotes : ''}
  }
}`
}
