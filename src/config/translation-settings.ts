import type { Settings } from '../mapping/settings.ts'
import type { Config } from './config.ts'

/** Returns the part of the configuration that translations depend on. */
export function translationSettings(config: Config): Settings {
  return {
    transport_type: config.DEFAULT_TRANSPORT_TYPE,
    vehicle_type: config.DEFAULT_VEHICLE_TYPE,
    send_quote_id: config.SEND_QUOTE_ID,
    shipment_number: config.SHIPMENT_NUMBER,
    native: nativeSettings(config.NATIVE_ACTIONS, config.V2_NATIVE_PATH),
  }
}

/** Returns the native settings; undefined if every action is translated. */
export function nativeSettings(actions: readonly string[] | undefined, path: string): Settings['native'] {
  return actions === undefined || actions.length === 0 ? undefined : { actions: new Set(actions), path }
}
