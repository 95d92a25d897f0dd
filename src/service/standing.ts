/** What this process knows of whether the service accepts a credential. */
export interface Standing {
  /** Returns whether the service has accepted the credential lately. */
  readonly isProven: () => boolean
  /** Called when the service accepts the credential. */
  readonly accepted: () => void
  /** Called when the service refuses the credential. */
  readonly refused: () => void
}

/** The standing of a credential that the operator gave to the gateway. */
export const trusted: Standing = { isProven: () => true, accepted: () => {}, refused: () => {} }
