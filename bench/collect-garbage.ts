/** Loaded into the service by the bench: on SIGUSR2 it collects all garbage, so that its memory shows what it holds. */
process.on('SIGUSR2', () => globalThis.gc?.());
