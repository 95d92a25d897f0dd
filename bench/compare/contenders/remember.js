const [, , , , , store] = process.argv

/** Stores a quote, for a contender that has a store. */
export const remember = store ? (await import(`./remember-${store}.js`)).remember : undefined
