/*
 * The vocabulary of a mapping: plain data, made by tiny constructors, and closed. One declaration gives both
 * directions: a request runs it from version 1 to version 2, a reply from version 2 to version 1.
 *
 * Version-1 fields are named as documented (`PickupPhNo.`), version-2 places by dotted path (`vehicles[0].year`).
 *
 * Declarations import it from here, and an operator's module is given it whole; the engine imports each part from its file.
 */
export * from './action.ts'
export * from './reply-row.ts'
export * from './row.ts'
