/** Reads the server's clock once for a statement (`WITH`): all times that it stores agree. */
export const CLOCK = 'clock AS MATERIALIZED (SELECT transload.now_ms() AS ms)'
/** The time of `CLOCK`, in milliseconds since 1970. */
export const NOW = '(SELECT ms FROM clock)'
