/** Loaded into the service by the bench: on SIGUSR2 it collects all garbage, so its memory is what it really holds. */
process.on('SIGUSR2', () => globalThis.gc?.());
