/** The arguments of a Node contender: `node contender.js PORT SERVICE_URL FOLDER [STORE [POSTGRES_URL]]`. */
export const host = '127.0.0.1'
export const port = Number(process.argv[2])
export const service = process.argv[3]
/** The most connections to the service: the gateway's default. */
export const connections = 128
/** A folder for what a contender stores. */
export const folder = process.argv[4]
/** The address of the database server, for those that use one. */
export const postgres = process.argv[6]
