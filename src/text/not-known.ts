/** Words of forms for a value that is not known yet; dashes and question marks say the same. */
const NOT_KNOWN = /^(?:tb[da]|n\/?a|none|unknown|\?+|[-–—]+)$/i

/** Tells if a text stands for a value that is not known yet. */
export const isNotKnown = (text: string): boolean => NOT_KNOWN.test(text.trim())
