import { InvalidArgumentError } from 'commander';
import type { ExportOptions } from './actions/audit.js';
import { type Command, idOf, parseLimit, parseSince } from './command.js';

/** `audit …`: who changed what. */
export function addAudit(program: Command): void {
  const audit = program.command('audit').description('read the audit entries: who changed what');

  audit
    .command('list')
    .description('list audit entries, newest first')
    .option('--target <id>', 'only entries about this client, endpoint, transfer, delivery or key')
    .option('--actor <actor>', 'only entries of this actor, as the list shows it')
    .option('--action <action>', 'only this action, such as clients.revoke, or a prefix such as clients', parseAction)
    .option('--since <time>', 'only entries since then: 2h (ago), or 2026-11-21T10:00:00Z', parseSince)
    .option('--before <id>', 'only entries older than this one: the next page', idOf('entry'))
    .option('--limit <n>', 'at most this many entries', parseLimit, 50)
    .does(async () => (await import('./actions/audit.js')).list);

  audit
    .command('export')
    .description('print audit entries as lines of JSON, oldest first, up to a minute ago')
    .option('--since <time>', 'only entries since then: 2h (ago), or 2026-11-21T10:00:00Z', parseSince)
    .option('--after <id>', 'only entries after this one, the last that an earlier export printed', idOf('entry'))
    .option('--follow', 'go on with new entries until Ctrl-C')
    .option('--json', 'the form of each line anyway')
    .action(async (options: ExportOptions) => (await import('./actions/audit.js')).exportLines(options));
}

/** An action or a prefix of one, without characters that have a meaning in a pattern of SQL. */
function parseAction(text: string): string {
  if (!/^[a-z][a-z.-]*$/.test(text)) throw new InvalidArgumentError('Give an action or a prefix of one.');
  return text;
}
