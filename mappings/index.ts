import type { Action, Callback } from '../src/language/mapping/declare.ts'
import { quoteApprove } from './quote-approve.ts'
import { quoteGet } from './quote-get.ts'
import { quoteUpdate } from './quote-update.ts'
import { shipmentCancel } from './shipment-cancel.ts'
import { shipmentCreate } from './shipment-create.ts'
import { shipmentEvent } from './shipment-event.ts'
import { shipmentGet } from './shipment-get.ts'
import { shipmentUpdate } from './shipment-update.ts'
import { vehicleTypes } from './vehicle-types.ts'

/** The built-in actions. */
export const actions: readonly Action[] = [
  quoteGet,
  quoteUpdate,
  quoteApprove,
  shipmentCreate,
  shipmentGet,
  shipmentUpdate,
  shipmentCancel,
]

/** The built-in messages that notify callers of events. */
export const callbacks: readonly Callback[] = [shipmentEvent]

/** The built-in lookup tables by name; an operator's file extends them. */
export const tables = { vehicle_types: vehicleTypes }
