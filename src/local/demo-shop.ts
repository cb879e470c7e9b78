import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { TransferServiceClient } from '../../clients/typescript/src/client.js';
import { createInbox, type Proof } from '../../clients/typescript/src/inbox.js';

const SCHEMA = 'demo_shop';

/** A shop of the demo, which ships goods when their transfer is COMPLETED. Its inbox is in the demo's Postgres. */
export interface DemoShop {
  webhookId: string;
  url: string;
  /** The receiver is gone, as after a crash. */
  down(): Promise<void>;
  /** The receiver is back, and reads what it has missed. */
  up(): Promise<void>;
  shipments(): Promise<number>;
  prove(until?: Date): Promise<Proof>;
  /** Removes endpoint and tables. */
  remove(): Promise<void>;
}

export async function openShop(
  client: TransferServiceClient,
  databaseUrl: string,
  description: string,
): Promise<DemoShop> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 4 });
  pool.on('error', () => {});
  const secret = randomBytes(24).toString('base64url');
  const since = new Date();
  const inbox = createInbox<pg.PoolClient>({
    pool,
    client,
    since,
    secrets: secret,
    schema: SCHEMA,
    onError() {},
    onEvent: async ({ data }, { tx }) => {
      if (data.status === 'COMPLETED') await tx.query(`insert into ${SCHEMA}.shipments values ($1)`, [data.id]);
    },
  });
  await pool.query(`drop schema if exists ${SCHEMA} cascade; create schema ${SCHEMA}`);
  await pool.query(`create table ${SCHEMA}.shipments (transfer_id uuid not null)`);
  await inbox.migrate();
  let server: Server | undefined;
  let reading = new AbortController();
  let port = 0;
  const up = async () => {
    server = createServer(inbox.express()).listen(port, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
    reading = new AbortController();
    void inbox.run({ signal: reading.signal, every: 1_000 });
  };
  const down = async () => {
    reading.abort();
    server?.closeAllConnections();
    await new Promise((resolve) => server?.close(resolve) ?? resolve(undefined));
    server = undefined;
  };
  await up();
  const url = `http://127.0.0.1:${port}/`;
  const { endpoint } = await client.webhookEndpoints.ensure({ url, secret, description });
  const { webhookId } = endpoint;
  return {
    webhookId,
    url,
    up,
    down,
    async shipments() {
      const { rows } = await pool.query(`select count(*)::int as n from ${SCHEMA}.shipments`);
      return rows[0].n;
    },
    prove: (until = new Date()) => inbox.prove({ webhookId, since, until }),
    async remove() {
      await down();
      await client.webhookEndpoints.delete(webhookId).catch(() => {});
      await pool.query(`drop schema if exists ${SCHEMA} cascade`).catch(() => {});
      await pool.end();
    },
  };
}

/** Waits until the shop has shipped so many goods. */
export async function untilShipped(shop: DemoShop, count: number): Promise<number> {
  const limit = AbortSignal.timeout(120_000);
  for (;;) {
    const shipped = await shop.shipments();
    if (shipped >= count) return shipped;
    await sleep(200, undefined, { signal: limit });
  }
}
