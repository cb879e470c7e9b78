// Part of `npm run check`: every time that is stored, compared or ordered is Postgres's. These files alone may read the
// clock of their process, or make an id of it. An argument selects another checkout.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const MAY = {
  'src/delivery/sender/send.ts': 'dates an attempt, whose `t` a receiver compares with its own clock',
  'src/notifications/notify.ts': 'dates a test message, which no row keeps',
  'src/endpoints/hours.ts': "moves an attempt's time to Postgres's clock",
  'src/platform/ids.ts': 'makes the ids of what no row keeps',
  'src/cli/commands/doctor.ts': "compares the machine's clock with Postgres's",
  'src/cli/view.ts': 'shows a person at this machine how long ago a time is',
  'src/temporal/connection.ts': "Temporal's SDK takes a limit as a time",
  'src/local/temporal.ts': "Temporal's SDK takes a limit as a time",
  'src/local/child.ts': 'measures a wait',
  'src/local/demo.ts': 'measures a wait',
  'src/local/demo-shop.ts': "is a client of the demo, with a client's clock",
  'src/platform/telemetry/gauges.ts': 'judges a certificate by the clock that TLS judges it by',
  'workflows/deliver-event.ts': "reads Temporal's clock, and never waits longer than the row says",
  'workflows/sandbox-transfer.ts': "reads Temporal's clock, and never waits longer than a step",
};
const CLOCK = /\bDate\.now\b|\bnew Date\(\)|\bnewId\b/;
/** Prisma would set these by the clock of its process. */
const PRISMA_CLOCK = /@updatedAt|@default\(now\(\)\)/;

const root = process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url));
const textOf = (file) => readFileSync(join(root, file), 'utf8');
const faults = [];
const used = new Set();
for (const folder of ['src', 'activities', 'workflows']) {
  if (!existsSync(join(root, folder))) continue;
  for (const name of readdirSync(join(root, folder), { recursive: true })) {
    const file = posix.join(folder, `${name}`.replaceAll('\\', '/'));
    if (!/\.tsx?$/.test(file) || file.includes('/generated/')) continue;
    for (const [i, line] of textOf(file).split('\n').entries()) {
      if (/^\s*(\/\/|\/?\*)/.test(line) || !CLOCK.test(line)) continue;
      used.add(file);
      if (!MAY[file]) faults.push(`${file}:${i + 1} reads the clock of its process: take the time from Postgres`);
    }
  }
}
for (const [i, line] of textOf('prisma/schema.prisma').split('\n').entries()) {
  if (!/^\s*\/\//.test(line) && PRISMA_CLOCK.test(line))
    faults.push(`prisma/schema.prisma:${i + 1} is set by Prisma's process: use dbgenerated("CURRENT_TIMESTAMP")`);
}
for (const file of Object.keys(MAY)) {
  if (!used.has(file)) faults.push(`${file} reads no clock: remove it from scripts/check-clocks.mjs`);
}
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
