/** The command failed. */
export const EXIT_FAILED = 1

/** EX_USAGE of sysexits.h: the command line has an error. */
export const EXIT_USAGE = 64

/** EX_DATAERR of sysexits.h: a file that the command reads cannot be read. */
export const EXIT_UNREADABLE = 65

/** EX_CONFIG of sysexits.h: a start fails until the configuration is corrected. */
export const EXIT_CONFIG = 78

/** A check of the service contradicts an assumption of the gateway. */
export const EXIT_CONTRADICTED = 2

/** A check of the service found something else than an earlier one. */
export const EXIT_CHANGED = 3

/** Shells add this to the number of the signal that ended a command. */
export const EXIT_SIGNALED = 128
