import { fakeSender, outcome } from './factories.js';

/** A sender whose receiver holds every response until `release` is called. */
export function heldSender() {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const sender = fakeSender(async () => {
    await held;
    return outcome();
  });
  return { sender, release };
}
