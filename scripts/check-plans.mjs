// Part of `npm run check`: every statement with an order and a limit can read far more rows than it returns, where
// Postgres follows the order and the condition fits few rows. So a test checks its plan beside full tables, or one of
// the reasons below says why it need not. An argument selects another checkout.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The declarations with such statements, by what checks their plans or why nothing does. */
const STATEMENTS = {
  'test/http/read-plans.test.ts': `
    src/auth/clients.ts LIST_ORDINARY listOrdinaryClients
    src/auth/console-sessions.ts LIST
    src/recoveries/recoveries.ts listRecoveries
    src/endpoints/window.ts WINDOW_WITH_DIGEST windowStatement
    src/endpoints/endpoints.ts listEndpoints
    src/endpoints/health.ts FAILING HEALTH LATEST newestDeliveries pendingLadders
    src/endpoints/notifications.ts UNSEEN listNotifications
    src/reports/attempt-series.ts DISABLED RECOVERIES
    src/reports/operator-overview.ts CLIENTS
    src/reports/read-deliveries.ts NEWEST SUMMARIES WITH_RESPONSE eventIdsOfTransfer listAttempts newestIds
    src/reports/read-events.ts LIST_MISSING NEWEST_WITH_OUTCOME listEvents listEventsOldestFirst readEventTimeline
    src/reports/search.ts TRANSFERS_BY_END WEBHOOKS_BY_END
    src/transfers/read-transfers.ts listStatement`,
  'test/platform/batch-plans.test.ts': `
    src/notifications/notify.ts ROUTE
    src/delivery/start-workflows.ts LEASE
    src/endpoints/hours.ts newestHours
    src/platform/audit.ts expireAudit
    src/platform/retention.ts REMOVE
    src/reports/pending-alone.ts PENDING_ALONE
    src/transfers/expire-transfers.ts REMOVE`,
  'test/platform/audit/read-entries.test.ts': 'src/platform/audit.ts listEntries',
  'test/delivery/queue-plans.test.ts': `
    src/delivery/lease.ts LEASE_OF_ENDPOINTS READ_HEADS
    src/delivery/waiting.ts WAITING endOfLease`,
  'test/delivery/outbox.test.ts': `
    src/reports/backlog.ts BACKLOG
    src/delivery/outbox.ts LEASE_EVENTS SKIP`,
  'test/delivery/watchdog.test.ts': 'src/delivery/queue.ts QUEUE_OVERDUE',
  'test/recoveries/deliver-missing.test.ts': 'src/recoveries/batches.ts DELIVER_MISSING',
  'test/recoveries/batch-plans.test.ts': 'src/recoveries/batches.ts resetThose',
  'test/endpoints/watch.test.ts': 'src/endpoints/watch.ts FAILING LOOKED_AT',
  'test/endpoints/cancel-pending.test.ts': 'src/endpoints/disable.ts CANCEL_PENDING',
  'test/transfers/erase-client.test.ts': 'src/transfers/erase-client.ts pageOf',
  'reads an index of few rows': `
    src/delivery/queue.ts FREE_EXPIRED
    src/endpoints/disable.ts NEXT
    src/endpoints/disabled-periods.ts KEEP
    src/auth/master-key.ts findMasterKeyFault
    src/auth/signing-keys.ts readRetiredKeys
    src/checks/explain-signature.ts explainAttempt
    src/platform/rate-limit.ts REMOVE_ENDED`,
  'follows the primary key, and every row that it reads is one of its rows': `
    src/auth/master-key.ts sealAgain
    src/platform/audit.ts LOOK`,
  'counts a range, for a person': 'src/reports/workflow-load.ts LOAD',
};

const isSql = (text) => /\blimit\s+[$\d]/i.test(text) && /\border by\b/i.test(text);
const isPrisma = (text) => /\borderBy\b/.test(text) && /\b(take|findFirst)\b/.test(text);

const root = process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url));
const faults = [];
const known = new Set();
for (const [by, listed] of Object.entries(STATEMENTS)) {
  if (by.startsWith('test/') && !existsSync(join(root, by))) faults.push(`${by} does not exist`);
  for (const line of listed.trim().split('\n')) {
    const [file, ...names] = line.trim().split(' ');
    for (const name of names) known.add(`${file} ${name}`);
  }
}
for (const name of readdirSync(join(root, 'src'), { recursive: true })) {
  const file = posix.join('src', `${name}`.replaceAll('\\', '/'));
  if (!/\.tsx?$/.test(file) || file.includes('/generated/')) continue;
  const code = readFileSync(join(root, file), 'utf8').replace(/^\s*(\/\/|\/?\*).*\n/gm, '');
  // Each part begins with a declaration of the file.
  for (const part of code.split(/^(?=(?:export )?(?:async )?(?:const|function|class) \w)/m)) {
    if (!isSql(part) && !isPrisma(part)) continue;
    const statement = `${file} ${/(?:const|function|class) (\w+)/.exec(part)?.[1]}`;
    if (!known.delete(statement)) {
      faults.push(`${statement} has an order and a limit: test its plan, and name the test in scripts/check-plans.mjs`);
    }
  }
}
for (const statement of known)
  faults.push(`${statement} has no such statement: remove it from scripts/check-plans.mjs`);
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
