import pg from 'pg';
import { TransferServiceClient } from 'transfer-service-client';
import { createShop } from './shop.js';

// Reads the events of a day and compares them with the endpoint's signed statement. Exits with 1 unless it is proven
// that they are the same: in CI on an empty database, or as a daily job on the shop's own.

const { DATABASE_URL, BASE_URL: baseUrl, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret } = process.env;
const until = new Date(Date.now() - 120_000);
const since = new Date(until.getTime() - 86_400_000);

const pool = new pg.Pool({ connectionString: DATABASE_URL });
const client = new TransferServiceClient({ baseUrl, clientId, clientSecret });
const shop = createShop({ pool, client, since });
await shop.migrate();
await shop.inbox.poll();
const { proven, statement, ...differences } = await shop.inbox.prove({ since, until });
await pool.end();
if (proven && statement.signature) {
  console.log(`proven: exactly the ${statement.events} events of the signed statement of ${statement.since}`);
} else {
  console.error('not proven', differences);
  process.exitCode = 1;
}
