/* The pages whose code is loaded once one of them is asked for. */

export { booking, bookings } from './bookings.ts'
export { event, events } from './events.ts'
export { guidePage } from './guide.ts'
export { home, settings } from './home.ts'
export { migration, ownMigration, ownNumbers } from './migration.ts'
export { openApiAnswer } from './open-api.ts'
export { referencePage } from './reference.ts'
export { script, workbenchPage } from './workbench.ts'
