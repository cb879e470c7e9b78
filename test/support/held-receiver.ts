import { fakeSender, outcome } from './factories.js';

/**
 * A sender whose receiver holds responses until `release` is called.
 * @param only the number of the one call whose response it holds; absent: it holds every response
 * @param others the outcome of the other calls
 */
export function heldSender(only?: number, others = () => outcome()) {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const sender = fakeSender(async (call) => {
    if (only !== undefined && call !== only) return others();
    await held;
    return outcome();
  });
  return { sender, release };
}
