/*
 * The parts of undici that the gateway uses, by their own paths. The main module also loads fetch, web sockets and caches, and takes twice
 * as long.
 */

declare module 'undici/lib/core/connect.js' {
  export { buildConnector as default } from 'undici'
}

declare module 'undici/lib/dispatcher/client.js' {
  export { Client as default } from 'undici'
}

declare module 'undici/lib/dispatcher/pool.js' {
  export { Pool as default } from 'undici'
}
