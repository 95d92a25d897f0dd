/*
 * The parts of undici that the gateway uses, by their own names: the whole of it brings a fetch, web sockets and caches,
 * which take twice as long to load.
 */

declare module 'undici/lib/dispatcher/client.js' {
  export { Client as default } from 'undici'
}

declare module 'undici/lib/dispatcher/pool.js' {
  export { Pool as default } from 'undici'
}
