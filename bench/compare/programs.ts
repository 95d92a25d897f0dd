import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Refused } from './rounds.ts'

/** The programs of this machine that take part; the bench installs none of them. */
export interface Programs {
  /** Lines of configuration that load nginx's Lua modules. */
  readonly nginxLua: readonly string[] | undefined
  /** True if nginx's Lua can use a Redis of this machine. */
  readonly redis: boolean
  readonly haproxy: boolean
  /** The path at which HAProxy's Lua finds its JSON library. */
  readonly haproxyLua: string | undefined
  /** The missing programs, and what the bench leaves out without them. */
  readonly missing: readonly string[]
}

/** Runs a program and returns its output on both streams. */
function said(command: string, ...words: readonly string[]): string | undefined {
  const { error, stdout, stderr } = spawnSync(command, words, { encoding: 'utf8' })
  return error ? undefined : `${stdout}${stderr}`
}

/** Finds the programs. */
export function findPrograms(): Programs {
  const nginx = said('nginx', '-V')
  if (nginx === undefined || said('wrk', '-v') === undefined) throw new Refused('nginx and wrk must be installed')
  const haproxy = said('haproxy', '-vv')
  const nginxLua = luaModules(nginx)
  const redis = said('redis-server', '--version') !== undefined && existsSync('/usr/share/lua/5.1/nginx/redis.lua')
  const haproxyLua = haproxy === undefined ? undefined : jsonOfLua(haproxy)
  const missing = [
    ...(nginxLua ? [] : ['nginx has no Lua (libnginx-mod-http-lua, lua-cjson): it only passes through']),
    ...(redis ? [] : ['nginx has no Redis (redis-server, lua-nginx-redis): it stores no quotes there']),
    ...(haproxy === undefined ? ['haproxy is not installed: it is left out'] : []),
    ...(haproxy !== undefined && !haproxyLua ? ['HAProxy has no Lua with lua-cjson: it only passes through'] : []),
  ]
  return { nginxLua, redis, haproxy: haproxy !== undefined, haproxyLua, missing }
}

function luaModules(versions: string): readonly string[] | undefined {
  const folder = /--modules-path=(\S+)/.exec(versions)?.[1] ?? '/usr/lib/nginx/modules'
  const json = globSync('/usr/{lib,local/lib}/{,*/}lua/5.1/cjson.so').length > 0
  const modules = ['ndk_http_module.so', 'ngx_http_lua_module.so'].map((name) => join(folder, name))
  return json && modules.every((module) => existsSync(module))
    ? modules.map((path) => `load_module ${path};`)
    : undefined
}

function jsonOfLua(versions: string): string | undefined {
  const version = /Built with Lua version : Lua (\d+\.\d+)/.exec(versions)?.[1]
  const [found] = version === undefined ? [] : globSync(`/usr/{lib,local/lib}/{,*/}lua/${version}/cjson.so`)
  return found?.replace('cjson.so', '?.so')
}

/** Returns the versions of all programs and packages, by name. */
export function versions(): Readonly<Record<string, string>> {
  const packages = ['fastify', '@fastify/reply-from', 'express', 'axios', 'undici']
  const installed = packages.map((name) => {
    const { version } = JSON.parse(
      readFileSync(join(import.meta.dirname, '../node_modules', name, 'package.json'), 'utf8'),
    )
    return [name, String(version)]
  })
  const found = (command: string, pattern: RegExp, ...words: string[]) =>
    pattern.exec(said(command, ...words) ?? '')?.[1]
  const own = {
    Node: process.versions.node,
    nginx: found('nginx', /nginx\/(\S+)/, '-v'),
    Redis: found('redis-server', /v=(\S+)/, '--version'),
    HAProxy: found('haproxy', /version (\d[\d.]*)/, '-v'),
    wrk: found('wrk', /wrk (?:debian\/)?(\d[\d.]*)/, '-v'),
  }
  const present = Object.entries(own).flatMap(([name, version]) => (version === undefined ? [] : [[name, version]]))
  return Object.fromEntries([...present, ...installed])
}
