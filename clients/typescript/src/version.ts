/** The release of this package, as package.json states it. */
export const VERSION = '1.0.0';
