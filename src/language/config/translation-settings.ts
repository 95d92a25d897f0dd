import type { Settings } from '../mapping/row.ts'
import type { Config } from './config.ts'

/** Returns the part of the configuration that translations depend on. */
export function translationSettings(config: Config): Settings {
  return {
    transport_type: config.DEFAULT_TRANSPORT_TYPE,
    vehicle_type: config.DEFAULT_VEHICLE_TYPE,
    send_quote_id: config.SEND_QUOTE_ID,
    shipment_number: config.SHIPMENT_NUMBER,
  }
}
