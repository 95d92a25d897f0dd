const LONGEST_NAME_CHARACTERS = 64
const LONGEST_TENANT_CHARACTERS = 256

/** Returns a name that a caller chose in a form that every store keeps. */
export const storableName = (name: string): string => storable(name, LONGEST_NAME_CHARACTERS)

/** Returns the name of a tenant in a form that every store keeps. */
export const storableTenant = (name: string): string => storable(name, LONGEST_TENANT_CHARACTERS)

function storable(text: string, limit: number): string {
  const short = text.length > limit ? `${text.slice(0, limit - 1)}…` : text
  return short.toWellFormed().replaceAll('\0', '�')
}
