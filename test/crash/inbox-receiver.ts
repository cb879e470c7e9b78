import { createServer } from 'node:http';
import pg from 'pg';
import { TransferServiceClient } from '../../clients/typescript/src/client.js';
import { createInbox } from '../../clients/typescript/src/inbox.js';
import type { ClientOptions } from '../../clients/typescript/src/settings.js';

// A shop in its own process (`fork`), which a run kills. It adds 1 to the balance of a transfer for each event, in the
// schema of its way: events come by pushes, by the feed, or by both.

export interface Shop {
  way: 'push' | 'poll' | 'both';
  port: number;
  secret: string;
  databaseUrl: string;
  login: ClientOptions;
}

const { way, port, secret, databaseUrl, login } = JSON.parse(process.argv[2] ?? '') as Shop;
const pool = new pg.Pool({ connectionString: databaseUrl, max: 8 });
// Postgres is killed too.
pool.on('error', () => {});
const inbox = createInbox<pg.PoolClient>({
  pool,
  client: new TransferServiceClient(login),
  secrets: secret,
  schema: `shop_${way}`,
  // The next try follows.
  onError() {},
  onEvent: async ({ data }, { tx }) => {
    await tx.query(
      `insert into shop_${way}.balances as b values ($1, 1) on conflict (transfer_id) do update set amount = b.amount + 1`,
      [data.id],
    );
  },
});
if (way !== 'poll') createServer(inbox.express()).listen(port, '127.0.0.1');
if (way !== 'push') void inbox.run({ signal: new AbortController().signal, every: 2_000 });
process.on('disconnect', () => process.exit());
