/** The command failed. */
export const EXIT_FAILED = 1

/** EX_USAGE of sysexits.h: the command line has an error. */
export const EXIT_USAGE = 64

/** EX_CONFIG of sysexits.h: a start fails until the configuration is corrected. */
export const EXIT_CONFIG = 78
