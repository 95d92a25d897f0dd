/** The knowledge of this process about the service's view of a credential. */
export interface Acceptance {
  /** Returns true if the service has accepted the credential recently. */
  readonly isProven: () => boolean
  /** Called when the service accepts the credential. */
  readonly accepted: () => void
  /** Called when the service refuses the credential. */
  readonly refused: () => void
}

/** The acceptance of a credential that the operator gave to the gateway. */
export const trusted: Acceptance = { isProven: () => true, accepted: () => {}, refused: () => {} }

/** An id that no shipment has: reading it is harmless and shows only if the credential is accepted. */
export const NO_SHIPMENT = '00000000-0000-4000-8000-000000000000'
