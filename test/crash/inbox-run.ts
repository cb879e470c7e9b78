import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { TransferServiceClient } from '../../clients/typescript/src/client.js';
import { createInbox } from '../../clients/typescript/src/inbox.js';
import { freePort } from '../../src/platform/free-port.js';
import { runCommand } from '../support/command.js';
import { makeLocalDir } from '../support/local-dir.js';
import { pick, randomFrom } from '../support/random.js';
import { startStackProcess } from '../support/stack-process.js';
import { SECRET, transferRequest } from '../support/transfers.js';
import type { Shop } from './inbox-receiver.js';
import { embeddedPart, SupervisedRole } from './parts.js';
import { withDatabase } from './record.js';

export interface InboxRun {
  seed: number;
  /** How long processes are killed. */
  seconds: number;
  say(line: string): void;
}

export interface InboxResult {
  kills: Record<string, number>;
  events: number;
  /** Balances that differ from the events of their transfers, by way. */
  wrong: Record<Shop['way'], string[]>;
  /** Whether the signed statement of the service proved each inbox that has an endpoint. */
  proven: Record<'push' | 'both', boolean>;
}

const WAYS = ['push', 'poll', 'both'] as const;
/** A kill every so many seconds on average. */
const GAP = 4;
/** Pushes that fail longer than this ladder are recovered in the end. */
const LADDER = '0s,1s,1s,2s,3s,5s,8s';
/** How long the inboxes have in the end, ms. */
const SETTLED_WITHIN = 240_000;

/**
 * Kills the shops, the service and Postgres at random under load, and then compares each balance with the service's
 * events: every event has its effect exactly once, by pushes alone, by the feed alone, and by both.
 */
export async function runInboxCrash({ seed, seconds, say }: InboxRun): Promise<InboxResult> {
  const random = randomFrom(seed);
  const place = makeLocalDir();
  const stack = await startStackProcess(place.path);
  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const env = {
    ...stack.env,
    ...{ BASE_URL: baseUrl, AUTH_URL: baseUrl, PORT: String(port), LOG_LEVEL: 'error', RATE_LIMIT: '10000' },
    ...{ DELIVERY_RETRY_DELAYS: LADDER, DISABLE_AFTER: '0s' },
  };
  await must(['migrate'], env);
  const service = new SupervisedRole('service', 'start', env);
  await service.untilReady();
  const credentials = JSON.parse(await must(['clients', 'create', '--json', '--name', 'inbox'], env));
  const login = { baseUrl, clientId: credentials.client_id, clientSecret: credentials.client_secret };
  const client = new TransferServiceClient(login);
  const databaseUrl = `${Object(env).DATABASE_URL}`;
  const pool = new pg.Pool({ connectionString: databaseUrl });
  pool.on('error', () => {});

  const shops = [];
  const proofs = [];
  for (const way of WAYS) {
    await pool.query(
      `create schema shop_${way}; create table shop_${way}.balances (transfer_id uuid primary key, amount int)`,
    );
    const inbox = createInbox<pg.PoolClient>({ pool, client, schema: `shop_${way}`, onEvent() {} });
    await inbox.migrate();
    const shop: Shop = { way, port: await freePort(), secret: SECRET, databaseUrl, login };
    shops.push(new SupervisedShop(shop));
    if (way === 'poll') continue;
    const url = `http://127.0.0.1:${shop.port}/`;
    const { endpoint } = await client.webhookEndpoints.ensure({ url, secret: SECRET });
    proofs.push({ way, inbox, webhookId: endpoint.webhookId });
  }

  const since = new Date();
  const load = startLoad(client, random);
  const victims = [...shops, ...shops, service, { ...embeddedPart(place.path, 'postgres') }];
  const kills: Record<string, number> = {};
  for (const end = Date.now() + seconds * 1_000; Date.now() < end; ) {
    await sleep(GAP * 1_000 * (0.5 + random()));
    const victim = pick(
      random,
      victims.map((one) => [one, 1] as const),
    );
    await victim.kill('kill -9', 3_000 * random());
    kills[victim.name] = (kills[victim.name] ?? 0) + 1;
    say(`killed ${victim.name}`);
  }
  await load.stop();
  await service.untilReady();
  say(`${load.changes} changes; waiting until every event has arrived`);

  const wrong = async () => {
    const entries = await Promise.all(WAYS.map(async (way) => [way, await wrongIn(databaseUrl, way)] as const));
    return Object.fromEntries(entries) as InboxResult['wrong'];
  };
  let left = await wrong();
  for (const end = Date.now() + SETTLED_WITHIN; Date.now() < end; left = await wrong()) {
    if (Object.values(left).every((transfers) => transfers.length === 0)) break;
    // Deliveries whose ladder ended, and pushes alone do not learn of those.
    for (const { webhookId } of proofs)
      await client.webhookEndpoints.recover(webhookId, { since: since.toISOString() }).catch(() => {});
    await sleep(5_000);
  }
  say('comparing with the signed statements');
  await sleep(Math.max(0, load.endedAt + 62_000 - Date.now()));
  const until = new Date(load.endedAt + 1_000);
  const proven = { push: false, both: false };
  for (const { way, inbox, webhookId } of proofs) {
    const proof = await inbox.prove({ webhookId, since, until });
    proven[way as 'push' | 'both'] = proof.proven && proof.missing.length === 0 && proof.statement.complete;
  }
  const events = await withDatabase(databaseUrl, (db) => db.query('select count(*)::int as n from events'));
  for (const shop of shops) await shop.stop();
  await pool.end();
  await service.stop();
  await stack.stop();
  await place.remove();
  return { kills, events: events.rows[0].n, wrong: await left, proven };
}

async function must(args: string[], env: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await runCommand(args, env);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

/** The transfers whose balance is not the number of their events. */
async function wrongIn(url: string, way: Shop['way']): Promise<string[]> {
  const { rows } = await withDatabase(url, (db) =>
    db.query(
      `select transfer_id, amount, made from shop_${way}.balances
         full join (select transfer_id, count(*) as made from events group by transfer_id) e using (transfer_id)
        where amount is distinct from made`,
    ),
  );
  return rows.map(({ transfer_id, amount, made }) => `${transfer_id}: ${amount} of ${made}`);
}

/** Creates transfers and moves each along, five changes a second. */
function startLoad(client: TransferServiceClient, random: () => number) {
  let stopping = false;
  const load = { changes: 0, endedAt: 0, stop: async () => {} };
  const run = async () => {
    while (!stopping) {
      try {
        const { id } = await client.transfers.create(transferRequest());
        for (const status of ['PROCESSING', 'SENT', 'COMPLETED'] as const) {
          await client.sandbox.setTransferStatus(id, { status });
          load.changes++;
          await sleep(400 * random());
        }
      } catch {
        // The service is down for longer than a call tries.
        await sleep(200);
      }
    }
  };
  const running = [run(), run()];
  load.stop = async () => {
    stopping = true;
    await Promise.all(running);
    load.endedAt = Date.now();
  };
  return load;
}

/** A shop under a small supervisor. */
class SupervisedShop {
  readonly name: string;
  #process: ChildProcess;
  #pause = 0;
  #stopping = false;

  constructor(private readonly shop: Shop) {
    this.name = `shop (${shop.way})`;
    this.#process = this.#start();
  }

  async kill(_how: string, pause: number): Promise<number> {
    this.#pause = pause;
    this.#process.kill('SIGKILL');
    return this.#process.pid ?? 0;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    const ended = this.#process.exitCode === null && this.#process.signalCode === null && once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await ended;
  }

  #start(): ChildProcess {
    // If this runs from the sources (Jest), the build is in dist/.
    const beside = fileURLToPath(new URL('./inbox-receiver.js', import.meta.url));
    const built = fileURLToPath(new URL('../../dist/test/crash/inbox-receiver.js', import.meta.url));
    const child = fork(existsSync(beside) ? beside : built, [JSON.stringify(this.shop)], { execArgv: [] });
    child.once('exit', () =>
      setTimeout(() => {
        if (!this.#stopping) this.#process = this.#start();
      }, this.#pause),
    );
    return child;
  }
}
