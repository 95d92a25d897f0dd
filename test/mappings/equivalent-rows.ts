/** Mutants that change nothing that a caller, the service or an operator could notice, with the reason. */
export const equivalentRows: readonly { readonly is: RegExp; readonly why: string }[] = [
  {
    is: /^quote\.get request: move \S+ (pickup|delivery): falls back to .*quoteFact/,
    why: 'a new quote recalls no other one',
  },
  {
    is: /^quote\.get request: move EquipmentType transport_type: required flipped/,
    why: 'its fallback is a setting that always has a value',
  },
  {
    is: /^shipment\.create request: move ReferenceNumber external_id: falls back to .*quoteFact/,
    why: 'the quote is found by the ReferenceNumber, which is sent then',
  },
  {
    is: /^shipment\.(create|update) request: split \S+ .*: parts in other places/,
    why: 'both parts are the whole name',
  },
  {
    is: /^shipment\.update reply: v2Only (id|number|status|price|distance|distance_meters|documents): set by another/,
    why: 'rows of the request say so already',
  },
]
