import { subscribe } from 'node:diagnostics_channel';
import { writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

// Loaded into a service under test by `node --import`: told over the IPC channel where to die, and at which pass, it ends
// the process there as `kill -9` does. JavaScript, since it is loaded as it is.

let armed = { name: '', passes: 0 };

// Temporal's workflow threads load it too; they pass none of the places.
if (isMainThread) {
  process.on('message', (message) => {
    armed = message;
    process.send('armed');
  });
  // It must not keep alive a service that ends in order.
  process.channel.unref();

  subscribe('transfer-service.failpoint', (name) => {
    if (name !== armed.name || --armed.passes > 0) return;
    writeSync(2, `died at failpoint ${name}\n`);
    process.kill(process.pid, 'SIGKILL');
  });
}
