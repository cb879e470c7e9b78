// Loaded by `--import` into a process under test: its wall clock is CLOCK_AHEAD ms ahead of the machine's clock, and a
// message over the IPC channel changes that offset. Only the wall clock moves: timers and performance.now() do not.
import { isMainThread } from 'node:worker_threads';

let ahead = Number(process.env.CLOCK_AHEAD ?? 0);
const Real = Date;

// Workflow threads have Temporal's time.
if (isMainThread) {
  globalThis.Date = class extends Real {
    constructor(...args) {
      super(...(args.length === 0 ? [Real.now() + ahead] : args));
    }

    static now() {
      return Real.now() + ahead;
    }
  };
  process.on('message', (message) => {
    ahead = message.ahead;
    process.send('set');
  });
  process.channel?.unref();
}
