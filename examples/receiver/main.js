import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import pg from 'pg';
import { TransferServiceClient } from 'transfer-service-client';
import { createShop } from './shop.js';

// Start the service with `npm start` in a clone, then this program: `node examples/receiver/main.js`. It keeps its tables
// in a schema of the service's own Postgres, so that it needs no other; yours has its own database (DATABASE_URL).

const { CREDENTIALS = join(import.meta.dirname, '../../.local/sandbox-client.json'), PORT = '4100' } = process.env;
const sandbox = JSON.parse(readFileSync(CREDENTIALS, 'utf8'));
const { auth_url: authUrl, base_url: baseUrl, client_id: clientId, client_secret: clientSecret } = sandbox;
const { DATABASE_URL = sandbox.database_url, PUBLIC_URL = `http://localhost:${PORT}/hook` } = process.env;

if (!existsSync('webhook-secret')) writeFileSync('webhook-secret', randomBytes(32).toString('hex'), { mode: 0o600 });
const secret = readFileSync('webhook-secret', 'utf8');

const pool = new pg.Pool({ connectionString: DATABASE_URL });
pool.on('error', (error) => console.error(`Postgres: ${error.message}`));
const client = new TransferServiceClient({ authUrl, baseUrl, clientId, clientSecret });
const shop = createShop({ pool, client, secret });
await shop.migrate();

createServer(shop.inbox.express()).listen(Number(PORT));
const { endpoint, outcome } = await client.webhookEndpoints.ensure({ url: PUBLIC_URL, secret, description: 'shop' });
console.log(`${PUBLIC_URL} is the endpoint ${endpoint.webhookId} (${outcome})`);
const stopped = new AbortController();
process.once('SIGTERM', () => stopped.abort());
process.once('SIGINT', () => stopped.abort());

/** Every hour, the events of the hour before last are proven to be here. */
const proving = setInterval(async () => {
  const hour = Math.floor(Date.now() / 3_600_000) * 3_600_000;
  const window = { since: new Date(hour - 7_200_000), until: new Date(hour - 3_600_000) };
  const proof = await shop.inbox.prove({ webhookId: endpoint.webhookId, ...window }).catch((error) => error);
  if (proof.proven !== true) console.error('not proven', proof);
}, 3_600_000);

await shop.inbox.run({ signal: stopped.signal });
clearInterval(proving);
process.exit();
