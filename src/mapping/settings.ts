/** The operator's defaults that a row may fall back to. */
export type DefaultSetting = 'transport_type' | 'vehicle_type'
/** The operator's switches that a row may wait for. */
export type SwitchSetting = 'send_quote_id'

/** The part of the configuration that a translation depends on; a tenant may have its own. */
export interface Settings {
  readonly transport_type: string
  readonly vehicle_type: string
  readonly send_quote_id: boolean
  /** Whether replies carry the caller's own numbers or always the service's. */
  readonly shipment_number: 'caller' | 'service'
}
