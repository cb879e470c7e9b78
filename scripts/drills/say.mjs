const startedAt = performance.now();

/** The time since the drill began, s. */
export const seconds = () => (performance.now() - startedAt) / 1_000;

/** Prints a progress line with that time. */
export const say = (line) => console.error(`${seconds().toFixed(0).padStart(5)} s  ${line}`);
