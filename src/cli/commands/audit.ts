import { pipeline } from 'node:stream/promises';
import { InvalidArgumentError } from 'commander';
import { expireAudit, exportEntries, listEntries } from '../../platform/audit.js';
import { readClock } from '../../platform/database/database.js';
import type { AuditEntry } from '../../platform/database/generated/client.js';
import { untilSignalled } from '../../process/lifecycle.js';
import { type Command, idOf, parseSince, type When } from '../command.js';
import { declareList, type Page } from '../list.js';
import { expiring, onDatabase } from '../with-database.js';

type Filters = { target?: string; actor?: string; action?: string; since?: When };

/** `audit …`: who changed what. */
export function declare(audit: Command): void {
  declareList(audit, {
    about: 'list audit entries, newest first',
    cursor: '--before, --cursor <id>',
    columns: ['at', 'actor', 'database_role', 'action', 'target', 'details'],
    read: async (database, { since, ...filters }: Filters & Page) =>
      listEntries(database, { ...filters, createdAfter: since && since(await readClock(database)) - 1 }),
    present,
  })
    .option('--target <id>', 'only entries about this client, endpoint, transfer, delivery or key')
    .option('--actor <actor>', 'only entries of this actor, as the list shows it')
    .option('--action <action>', 'only this action, such as clients.revoke, or a prefix such as clients', parseAction)
    .option('--since <time>', 'only entries since then: 2h (ago), or 2026-11-21T10:00:00Z', parseSince);

  audit
    .command('export')
    .description('print audit entries as lines of JSON, oldest first, up to a minute ago')
    .option('--since <time>', 'only entries since then: 2h (ago), or 2026-11-21T10:00:00Z', parseSince)
    .option('--after <id>', 'only entries after this one, the last that an earlier export printed', idOf('entry'))
    .option('--follow', 'go on with new entries until Ctrl-C')
    .option('--json', 'the form of each line anyway')
    .action(exportLines);

  audit
    .command('expire')
    .description('remove entries older than AUDIT_RETENTION; needs the DATABASE_URL of the owner')
    .does(expiring('AUDIT_RETENTION', expireAudit));
}

/** An action or a prefix of one, without characters that have a meaning in a pattern of SQL. */
function parseAction(text: string): string {
  if (!/^[a-z][a-z.-]*$/.test(text)) throw new InvalidArgumentError('Give an action or a prefix of one.');
  return text;
}

type ExportOptions = { since?: When; after?: string; follow?: true };

/** `audit export`: one page in memory at a time, as fast as the reader takes it. */
const exportLines = onDatabase(async ({ database }, { since, after, follow }: ExportOptions) => {
  const ended = new AbortController();
  if (follow) void untilSignalled().then(() => ended.abort());
  const pages = exportEntries(database, {
    since: since?.(await readClock(database)),
    ...{ after, follow: follow && ended.signal },
  });
  await pipeline(pages, linesOf, process.stdout, { end: false }).catch((error: NodeJS.ErrnoException) => {
    // The reader has what it wanted, such as `head`.
    if (error.code !== 'EPIPE') throw error;
  });
});

async function* linesOf(pages: AsyncIterable<AuditEntry[]>): AsyncGenerator<string> {
  for await (const page of pages) yield page.map((entry) => `${JSON.stringify(present(entry))}\n`).join('');
}

function present({ id, at, actor, databaseRole, action, target, details }: AuditEntry) {
  return { id, at: at.toISOString(), actor, database_role: databaseRole, action, target, details };
}
