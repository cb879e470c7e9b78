import { type Command, InvalidArgumentError } from 'commander';
import { listEntries } from '../audit/read-entries.js';
import type { AuditEntry } from '../database/generated/client.js';
import { idOf, parseLimit, parseSince } from './arguments.js';
import { setAction } from './command.js';
import type { Table } from './view/table.js';
import { withDatabase } from './with-database.js';

interface Options {
  target?: string;
  actor?: string;
  action?: string;
  since?: number;
  before?: string;
  limit: number;
}

/** `audit …`: the audit entries of the operators' actions. */
export function addAudit(program: Command): void {
  const audit = program.command('audit').description("read the audit entries of the operators' actions");

  setAction(
    audit
      .command('list')
      .description('list audit entries, newest first')
      .option('--target <id>', 'only entries about this client, endpoint, transfer, delivery or key')
      .option('--actor <actor>', 'only entries of this actor, as the list shows it')
      .option('--action <action>', 'only this action, such as clients.revoke, or a prefix such as clients', parseAction)
      .option('--since <time>', 'only entries since then: 2h (ago), or 2026-11-21T10:00:00Z', parseSince)
      .option('--before <id>', 'only entries older than this one: the next page', idOf('entry'))
      .option('--limit <n>', 'at most this many entries', parseLimit, 50),
    async ({ since, limit, ...filters }: Options) => {
      const range = since === undefined ? {} : { createdAfter: since - 1 };
      const entries = await withDatabase((database) => listEntries(database, { ...filters, ...range, take: limit }));
      return { json: entries.map(present), text: table(entries) };
    },
  );
}

/** An action or a prefix of one, without characters that have a meaning in a pattern of SQL. */
function parseAction(text: string): string {
  if (!/^[a-z][a-z.-]*$/.test(text)) throw new InvalidArgumentError('Give an action or a prefix of one.');
  return text;
}

function present({ id, at, actor, action, target, details }: AuditEntry) {
  return { id, at: at.toISOString(), actor, action, target, details };
}

function table(entries: readonly AuditEntry[]): Table {
  return {
    columns: [
      { name: 'at' },
      { name: 'actor' },
      { name: 'action' },
      { name: 'target' },
      { name: 'details', wraps: true },
    ],
    // An audit needs the exact time, also on a terminal.
    rows: entries.map(({ at, actor, action, target, details }) => [
      at.toISOString(),
      actor,
      action,
      target,
      summary(details),
    ]),
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
