import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import pg from 'pg';
import { createShop } from './shop.js';

// The receiver alone, without the service, for `transfer-service-client check` in CI.

const { DATABASE_URL, PORT = '4100', SECRET = randomBytes(32).toString('hex') } = process.env;
writeFileSync('webhook-secret', SECRET, { mode: 0o600 });
const shop = createShop({ pool: new pg.Pool({ connectionString: DATABASE_URL }), secret: SECRET });
await shop.migrate();
createServer(shop.inbox.express()).listen(Number(PORT), () => console.log(`listening on ${PORT}`));
