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
  /** The actions that the service's own version-1 handling answers; undefined if there are none. */
  readonly native?: NativeSettings | undefined
}

/** The actions that are not translated, and where the service reads version 1. */
export interface NativeSettings {
  readonly actions: ReadonlySet<string>
  /** A prefix of the legacy paths, or `/v2` for the version-2 paths. */
  readonly path: string
}
