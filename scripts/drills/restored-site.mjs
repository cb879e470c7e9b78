import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { freePort } from '../../dist/src/platform/free-port.js';
import { startLoad } from '../../dist/test/crash/load.js';
import { untilQuiet } from '../../dist/test/crash/quiet.js';
import { startReceiver } from '../../dist/test/crash/receiver.js';
import { readRecord, withDatabase } from '../../dist/test/crash/record.js';
import { caller, must } from '../../dist/test/support/caller.js';
import { runCli } from '../../dist/test/support/cli.js';
import { makeLocalDir } from '../../dist/test/support/local-dir.js';
import { randomFrom } from '../../dist/test/support/random.js';
import { startRole } from '../../dist/test/support/role-process.js';
import { startStackProcess } from '../../dist/test/support/stack-process.js';
import { SECRET } from '../../dist/test/support/transfers.js';
import { waitFor } from '../../dist/test/support/wait-for.js';
import { startRelay, startServer, urlAt } from './postgres-servers.mjs';

/**
 * Runs `drill` with an API, a worker, a receiver and a load, whose Postgres the drill provides and loses. The site knows
 * what was acknowledged and when. At the end it reports what is lost, and what of that step 6 of the runbook names
 * (docs/operations/backup-and-restore.md). Servers and relays that the drill adds end with it.
 */
export async function withSite(drill) {
  const undo = [];
  const folder = mkdtempSync(join(tmpdir(), 'drill-'));
  try {
    return await drill({
      folder,
      async addServer(options) {
        const server = await startServer(options);
        undo.push(server.remove);
        return server;
      },
      async addRelay(port) {
        const relay = await startRelay(port);
        undo.push(relay.close);
        return relay;
      },
      start: (port, rate) => startSite(urlAt(port).reveal(), rate, undo),
    });
  } finally {
    for (const step of undo.reverse()) await (async () => step())().catch((error) => console.error(error.message));
    rmSync(folder, { recursive: true });
  }
}

async function startSite(databaseUrl, rate, undo) {
  const place = makeLocalDir();
  undo.push(place.remove);
  // For Temporal. Its Postgres stays idle.
  const stack = await startStackProcess(place.path);
  undo.push(stack.stop);
  const port = String(await freePort());
  const BASE_URL = `http://127.0.0.1:${port}`;
  const own = { DATABASE_URL: databaseUrl, PORT: port, BASE_URL, AUTH_URL: BASE_URL, RATE_LIMIT: '1000000' };
  const env = { ...stack.env, ...own };
  const cli = async (...args) => {
    const { code, stdout, stderr } = await runCli([...args, '--json'], env);
    if (code !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
    return JSON.parse(stdout);
  };
  await cli('migrate');
  const credentials = await cli('clients', 'create', '--name', 'drill');
  const receiver = await startReceiver(SECRET, () => 204);
  undo.push(receiver.close);
  const connection = Connection.lazy({ address: env.TEMPORAL_ADDRESS });
  undo.push(() => connection.close());
  const temporal = new Client({ connection, namespace: env.TEMPORAL_NAMESPACE });
  const roles = [];
  const startRoles = async (...names) => {
    const started = names.map((name) => startRole(name, env));
    roles.push(...started);
    await Promise.all(started.map(({ ready }) => ready));
  };
  const stopRoles = () => Promise.all(roles.map((role) => role.stop()));
  undo.push(stopRoles);
  await startRoles('worker', 'api');
  const client = await caller({ auth_url: BASE_URL, base_url: BASE_URL }, credentials);
  await must(client('POST', '/webhook-endpoints', { url: receiver.url, secret: SECRET }));

  /** Each acknowledged transfer and change, as `transfer status`, with the time of its response. */
  const acknowledged = [];
  let [rejected, slowest] = [0, 0];
  const watched = async (method, path, body, headers) => {
    const began = Date.now();
    const response = await client(method, path, body, headers).finally(() => {
      slowest = Math.max(slowest, Date.now() - began);
    });
    if (response.status === 201) acknowledged.push({ change: `${response.body.id} CREATED`, at: Date.now() });
    else if (response.status === 200)
      acknowledged.push({ change: `${path.split('/')[3]} ${body.status}`, at: Date.now() });
    else if (response.status === 503) rejected++;
    return response;
  };
  const load = startLoad([watched], randomFrom(1), rate);
  return {
    cli,
    stopRoles,
    startRoles,
    /** The seconds from `since` to the first change that is acknowledged from now on. */
    async untilAcknowledged(since) {
      const before = acknowledged.length;
      await waitFor('a change to be acknowledged', () => acknowledged.length > before, 120_000);
      return (acknowledged[before].at - since) / 1_000;
    },
    /** Ends the load, waits for the deliveries, and judges what was acknowledged until `until` (ms). */
    async judge(since, until) {
      await load.stop();
      const faults = [];
      await untilQuiet({ databaseUrl, temporal }, faults);
      const { transfers, events, deliveries } = await withDatabase(databaseUrl, readRecord);
      const changeOf = ({ transfer, body }) => `${transfer} ${JSON.parse(body).data.status}`;
      // A new transfer has no event.
      const made = new Set([...transfers.map((id) => `${id} CREATED`), ...events.map(changeOf)]);
      const gone = acknowledged.filter(({ change }) => !made.has(change));
      const lost = gone.filter(({ change }) => !change.endsWith('CREATED'));
      const eventOf = new Map(receiver.arrivals.map(({ transfer, status, event }) => [`${transfer} ${status}`, event]));
      const named = new Set((await cli('deliveries', 'lost', '--since', since)).map(({ event_id }) => event_id));
      const logs = roles.flatMap(({ said }) => said).filter((line) => line.includes('"msg":"attempt"'));
      const before = gone.filter(({ at }) => at < Date.parse(since));
      const arrived = lost.filter(({ change }) => eventOf.has(change));
      const byCommand = arrived.filter(({ change }) => named.has(eventOf.get(change)));
      const byLogs = arrived.filter(({ change }) => logs.some((line) => line.includes(eventOf.get(change))));
      for (const { change } of before) faults.push(`acknowledged before ${since}, and lost: ${change}`);
      for (const one of arrived) {
        if (!byCommand.includes(one) && !byLogs.includes(one))
          faults.push(`arrived, lost and not named: ${one.change}`);
      }
      for (const { status, id } of deliveries) if (status !== 'succeeded') faults.push(`${status}: delivery ${id}`);
      for (const fault of faults) console.error(fault);
      if (faults.length > 0) process.exitCode = 1;
      const seconds = (ms) => Math.round(ms / 10) / 100;
      return {
        acknowledged: acknowledged.length,
        'of them lost': gone.length,
        'of them acknowledged before the fault began': before.length,
        'from the first lost one to the fault, s': gone.length > 0 ? seconds(until - gone[0].at) : 0,
        'lost transfers': gone.length - lost.length,
        'lost changes of status': lost.length,
        'of them arrived at the receiver': arrived.length,
        'of these named by `deliveries lost`': byCommand.length,
        "of these named by the workers' log lines": byLogs.length,
        'responses 503': rejected,
        'slowest response, s': seconds(slowest),
        faults: faults.length,
      };
    },
  };
}
