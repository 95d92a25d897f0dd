/** The action of a version-2 body on a version-1 path. */
export const VERSION_2_BODY = 'version-2 body'
