import { pipeline } from 'node:stream/promises';
import { InvalidArgumentError } from 'commander';
import { expireAudit, exportEntries, listEntries } from '../../platform/audit.js';
import type { AuditEntry } from '../../platform/database/generated/client.js';
import { untilSignalled } from '../../process/lifecycle.js';
import { type Command, idOf, parseLimit, parseSince } from '../command.js';
import type { Table } from '../view.js';
import { expiring, onDatabase } from '../with-database.js';

/** `audit …`: who changed what. */
export function declare(audit: Command): void {
  audit
    .command('list')
    .description('list audit entries, newest first')
    .option('--target <id>', 'only entries about this client, endpoint, transfer, delivery or key')
    .option('--actor <actor>', 'only entries of this actor, as the list shows it')
    .option('--action <action>', 'only this action, such as clients.revoke, or a prefix such as clients', parseAction)
    .option('--since <time>', 'only entries since then: 2h (ago), or 2026-11-21T10:00:00Z', parseSince)
    .option('--before <id>', 'only entries older than this one: the next page', idOf('entry'))
    .option('--limit <n>', 'at most this many entries', parseLimit, 50)
    .does(list);

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
    .does(expire);
}

/** An action or a prefix of one, without characters that have a meaning in a pattern of SQL. */
function parseAction(text: string): string {
  if (!/^[a-z][a-z.-]*$/.test(text)) throw new InvalidArgumentError('Give an action or a prefix of one.');
  return text;
}

interface Options {
  target?: string;
  actor?: string;
  action?: string;
  since?: number;
  before?: string;
  limit: number;
}

const list = onDatabase(async ({ database }, { since, limit, ...filters }: Options) => {
  const range = since === undefined ? {} : { createdAfter: since - 1 };
  const entries = await listEntries(database, { ...filters, ...range, take: limit });
  return { json: entries.map(present), text: table(entries) };
});

interface ExportOptions {
  since?: number;
  after?: string;
  follow?: true;
}

/** `audit export`: one page in memory at a time, as fast as the reader takes it. */
const exportLines = onDatabase(async ({ database }, { since, after, follow }: ExportOptions) => {
  const ended = new AbortController();
  if (follow) void untilSignalled().then(() => ended.abort());
  const pages = exportEntries(database, { since, after, follow: follow && ended.signal });
  await pipeline(pages, linesOf, process.stdout, { end: false }).catch((error: NodeJS.ErrnoException) => {
    // The reader has what it wanted, such as `head`.
    if (error.code !== 'EPIPE') throw error;
  });
});

const expire = expiring('AUDIT_RETENTION', 'audit entries', '730d', expireAudit);

async function* linesOf(pages: AsyncIterable<AuditEntry[]>): AsyncGenerator<string> {
  for await (const page of pages) yield page.map((entry) => `${JSON.stringify(present(entry))}\n`).join('');
}

function present({ id, at, actor, databaseRole, action, target, details }: AuditEntry) {
  return { id, at: at.toISOString(), actor, database_role: databaseRole, action, target, details };
}

function table(entries: readonly AuditEntry[]): Table {
  return {
    // An audit needs the exact time, also on a terminal.
    rows: entries.map((entry) => ({
      at: entry.at.toISOString(),
      actor: entry.actor,
      database_role: entry.databaseRole,
      action: entry.action,
      target: entry.target,
      details: summary(entry.details),
    })),
    wraps: ['details'],
    none: 'no entries',
  };
}

/** `CREATED → PROCESSING reason="picked up"` */
function summary(details: AuditEntry['details']): string {
  const { from, ...rest } = Object(details) as Record<string, unknown>;
  if (from === undefined) return pairs(rest);
  const { to, ...others } = rest;
  return `${word(from)} → ${word(to)} ${pairs(others)}`.trim();
}

function pairs(values: Record<string, unknown>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${word(value)}`)
    .join(' ');
}

function word(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(word).join(', ')}]`;
  return typeof value === 'string' && /^\S+$/.test(value) ? value : JSON.stringify(value);
}
