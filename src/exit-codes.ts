/** The command could not do what it was asked to. */
export const EXIT_FAILED = 1

/** EX_USAGE of sysexits.h: the command line cannot be understood. */
export const EXIT_USAGE = 64

/** EX_CONFIG of sysexits.h: a start fails until somebody corrects the configuration. */
export const EXIT_CONFIG = 78
