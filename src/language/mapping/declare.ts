/*
 * The closed vocabulary of mappings: plain data, made by small constructors. One declaration gives both directions: a request runs it from
 * version 1 to version 2, a reply from version 2 to version 1.
 *
 * Version-1 fields have their documented names (`PickupPhNo.`), version-2 places are dotted paths (`vehicles[0].year`).
 *
 * The built-in declarations import the vocabulary from here; an operator's module receives it as an object. The engine imports each part
 * from its own file.
 */
export * from './action.ts'
export { type Callback, callback, changed } from './callback.ts'
export * from './row.ts'
