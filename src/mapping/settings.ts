/** The operator's default settings that a row may fall back to. */
export type DefaultSetting = 'transport_type' | 'vehicle_type'
/** The operator's switches that a row may depend on. */
export type SwitchSetting = 'send_quote_id'

/** The settings of a translation; a tenant may have its own. */
export interface Settings {
  readonly transport_type: string
  readonly vehicle_type: string
  readonly send_quote_id: boolean
  /** The numbers in replies: the caller's own, if there is one, or always the service's. */
  readonly shipment_number: 'caller' | 'service'
}
