import { subscribe } from 'node:diagnostics_channel';
import { writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

// Loaded into a service under test by `node --import`. A message over the IPC channel names a failpoint and a pass, at
// which the process ends as by `kill -9`. This is JavaScript, since Node loads it without a build.

let armed = { name: '', passes: 0 };

// Temporal's workflow threads load this file too. They pass no failpoint.
if (isMainThread) {
  process.on('message', (message) => {
    armed = message;
    process.send('armed');
  });
  // A service ends with its test.
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  // The channel must not keep the service alive at a regular end.
  process.channel.unref();

  subscribe('transfer-service.failpoint', (name) => {
    if (name !== armed.name || --armed.passes > 0) return;
    writeSync(2, `died at failpoint ${name}\n`);
    process.kill(process.pid, 'SIGKILL');
  });
}
