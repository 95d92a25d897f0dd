/** The command could not do what it was asked to. */
export const EXIT_FAILED = 1

/** EX_USAGE of sysexits.h: the words of the command are wrong. */
export const EXIT_USAGE = 64

/** EX_CONFIG of sysexits.h: starting again will not help before somebody mends the configuration. */
export const EXIT_CONFIG = 78
