import type { Client } from '@temporalio/client';
import pg from 'pg';
import { type Trace, trace } from './leaks.js';

/** Every row of every table of the database, as text. */
export async function dumpOfEveryTable(databaseUrl: string): Promise<Trace[]> {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    const { rows } = await database.query<{ name: string }>(
      `select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public'`,
    );
    const dumps = [];
    for (const { name } of rows) {
      const { rows: lines } = await database.query<{ line: string }>(`select t::text as line from ${name} t`);
      dumps.push(trace(`table ${name}`, lines.map(({ line }) => line).join('\n')));
    }
    return dumps;
  } finally {
    await database.end();
  }
}

/** Every workflow history of the namespace, with its payloads decoded. */
export async function histories(temporal: Client): Promise<Trace[]> {
  const found = [];
  for await (const execution of temporal.workflow.list()) {
    const history = await temporal.workflow.getHandle(execution.workflowId, execution.runId).fetchHistory();
    const about = JSON.stringify([execution.memo, execution.searchAttributes]);
    found.push(trace(`the history of ${execution.type}`, about + readable(history)));
  }
  return found;
}

/** Everything in it as text; payloads are bytes. */
function readable(value: unknown): string {
  return JSON.stringify(value, (_, member) =>
    member?.type === 'Buffer'
      ? Buffer.from(member.data).toString('latin1')
      : member instanceof Uint8Array
        ? Buffer.from(member).toString('latin1')
        : member,
  );
}
