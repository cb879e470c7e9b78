import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { breakingChanges } from '../support/api-surface.js';
import { must } from '../support/caller.js';
import { makeLocalDir } from '../support/local-dir.js';
import { type RawReceiver, startRawReceiver } from '../support/raw-receiver.js';
import { type ServiceProcess, startService } from '../support/service-process.js';
import { SECRET, transferRequest } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// A database with sleeping deliveries is upgraded from each release to this code, and rolled back. UPGRADE_FROM=COMMIT
// takes another commit as the release.

const { readReleases } = await import(pathToFileURL(resolve('scripts/releases.mjs')).href);
const { UPGRADE_FROM } = process.env;
const releases: { version: string; commit?: string }[] = UPGRADE_FROM
  ? [{ version: UPGRADE_FROM, commit: UPGRADE_FROM }]
  : readReleases();
const final = releases.filter(({ commit }) => commit && has(commit));
if (final.length === 0) process.stderr.write('skipped: this clone has the commit of no release\n');

function has(commit: string): boolean {
  try {
    execFileSync('git', ['cat-file', '-e', commit], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Installs and builds the sources of a commit once. @returns the folder */
function provide(commit: string): string {
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'transfer-service/releases');
  const folder = join(cache, execFileSync('git', ['rev-parse', commit], { encoding: 'utf8' }).trim());
  if (existsSync(folder)) return folder;
  const building = `${folder}.new`;
  mkdirSync(building, { recursive: true });
  execFileSync('tar', ['--extract', '--directory', building], { input: execFileSync('git', ['archive', commit], BIG) });
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: building, stdio: 'pipe', timeout: 900_000 });
  renameSync(building, folder);
  return folder;
}
const BIG = { maxBuffer: 1e9 };

const SLEEPS = { DELIVERY_RETRY_DELAYS: ['0s', ...Array<string>(20).fill('20s')].join(',') };

for (const { version, commit = '' } of final) {
  describe(`from ${version}`, () => {
    const localDir = makeLocalDir();
    let root: string;
    let receiver: RawReceiver;
    let service: ServiceProcess | undefined;
    let accepts = false;

    beforeAll(async () => {
      root = provide(commit);
      receiver = await startRawReceiver((socket) =>
        socket.write(`HTTP/1.1 ${accepts ? 204 : 503} x\r\ncontent-length: 0\r\n\r\n`),
      );
    }, 1_000_000);
    afterAll(async () => {
      await service?.stop();
      await receiver?.close();
      await localDir.remove();
    });

    const start = async (at?: string) => {
      await service?.stop();
      service = undefined;
      service = await startService(localDir.path, SLEEPS, at);
      return service;
    };
    /** Changes transfers. @returns their deliveries */
    const change = async ({ client }: ServiceProcess, count: number): Promise<string[]> => {
      for (let i = 0; i < count; i++) {
        const { id } = await must(client('POST', '/transfers', transferRequest()));
        await must(client('POST', `/sandbox/transfers/${id}/status`, { status: 'PROCESSING' }));
      }
      const { data } = await must(client('GET', `/deliveries?limit=${count}`));
      return data.map(({ id }: { id: string }) => id);
    };
    const delivery = async ({ client }: ServiceProcess, id: string) => must(client('GET', `/deliveries/${id}`));
    const asleep = (at: ServiceProcess, ids: readonly string[]) =>
      waitFor('deliveries that sleep', async () => {
        const all = await Promise.all(ids.map((id) => delivery(at, id)));
        return all.every(({ status, attempt_count: count }) => status === 'pending' && count >= 2);
      });
    /** Deliveries of a lost workflow come two minutes late. */
    const succeeded = (at: ServiceProcess, ids: readonly string[]) =>
      waitFor(
        'deliveries that succeeded',
        async () =>
          (await Promise.all(ids.map((id) => delivery(at, id)))).every(({ status }) => status === 'succeeded'),
        200_000,
      );
    const document = async ({ sandbox }: ServiceProcess) => (await fetch(`${sandbox.base_url}/openapi.json`)).json();

    test('this code ends the deliveries that sleep, and the release ends those of this code', async () => {
      const old = await start(root);
      await must(old.client('POST', '/webhook-endpoints', { url: receiver.url, secret: SECRET }));
      const before = await change(old, 5);
      await asleep(old, before);
      const was = await document(old);

      const upgraded = await start();
      expect(breakingChanges(was, await document(upgraded))).toEqual([]);
      accepts = true;
      await succeeded(upgraded, [...before, ...(await change(upgraded, 1))]);
      await allEnded(upgraded);
      accepts = false;
      const after = await change(upgraded, 5);
      await asleep(upgraded, after);

      const rolledBack = await start(root);
      accepts = true;
      await succeeded(rolledBack, [...after, ...(await change(rolledBack, 1))]);
    }, 900_000);
  });
}

async function allEnded({ sandbox: { temporal_address, temporal_namespace } }: ServiceProcess): Promise<void> {
  const connection = await Connection.connect({ address: temporal_address });
  const { workflow } = new Client({ connection, namespace: temporal_namespace });
  const query = `WorkflowType = 'deliverEvent' and ExecutionStatus = 'Running'`;
  await waitFor('the ends of the workflows', async () => (await workflow.count(query)).count === 0);
  await connection.close();
}
