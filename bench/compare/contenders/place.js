/** Where a Node contender listens and where the service is: `node contender.js PORT SERVICE_URL`. */
export const host = '127.0.0.1'
export const port = Number(process.argv[2])
export const service = process.argv[3]
/** Connections to the service at most, as the gateway has it unless told. */
export const connections = 128
