import { once } from 'node:events';
import { hostname } from 'node:os';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '../../src/platform/ids.js';
import { startCli } from '../support/cli.js';
import { runCommand } from '../support/command.js';
import { openTestDatabase } from '../support/database.js';
import { makeClient, makeEndpoint, makeTransfer } from '../support/factories.js';
import { onLinux, showOnTerminal } from '../support/terminal.js';

interface Entry {
  id: string;
  action: string;
}

const database = await openTestDatabase();
let env: Record<string, string>;
let transferId: string;
let clientId: string;
const me = `cli:ada@${hostname()}`;
/** The role of the tests' server. */
const role = new URL(process.env.TEST_DATABASE_URL ?? '').username;

async function json<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await runCommand([...args, '--json'], env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as T;
}
const list = (...filters: string[]) => json<Entry[]>('audit', 'list', ...filters);
const actions = (entries: readonly Entry[]) => entries.map(({ action }) => action);

beforeAll(async () => {
  env = { DATABASE_URL: database.url.reveal(), SUDO_USER: 'ada' };
  clientId = await makeClient(database);
  transferId = (await makeTransfer(database, clientId)).id;
  const endpoint = await makeEndpoint(database, clientId);
  await json('clients', 'allow', clientId, '10.0.0.0/8');
  await json('transfers', 'set-status', transferId, 'PROCESSING', '--reason', 'checked manually');
  await json('endpoints', 'disable', endpoint.id, '--yes');
});

test('lists command-line actions with actor and time, newest first', async () => {
  const [all, clients, ofTransfer] = await Promise.all([
    list('--actor', me, '--since', '1h'),
    list('--action', 'clients', '--limit', '1'),
    list('--target', transferId),
  ]);
  expect(actions(all)).toEqual(['endpoints.disable', 'transfers.set-status', 'clients.allow']);
  expect(actions(clients)).toEqual(['clients.allow']);
  expect(ofTransfer).toEqual([
    {
      id: all[1]?.id,
      at: expect.stringMatching(/^20.*Z$/),
      actor: me,
      database_role: role,
      action: 'transfers.set-status',
      target: transferId,
      details: { client_id: clientId, from: 'CREATED', to: 'PROCESSING', reason: 'checked manually' },
    },
  ]);
  const [next, page, nobody] = await Promise.all([
    list('--before', ofTransfer[0]?.id ?? ''),
    list('--since', '0s'),
    list('--actor', 'cli:nobody@here'),
  ]);
  expect([actions(next), page, nobody]).toEqual([['clients.allow'], [], []]);
});

onLinux('prints an entry as a line, with its details as JSON', async () => {
  const args = ['audit', 'list', '--target', transferId];
  const { stdout } = await runCommand(args, env);
  expect(stdout).toMatch(/^20\S+Z\t/);
  const [, , , , , details = ''] = stdout.split('\t');
  expect(stdout.slice(stdout.indexOf('\t'))).toBe(`\t${me}\t${role}\ttransfers.set-status\t${transferId}\t${details}`);
  expect(JSON.parse(details)).toMatchObject({ from: 'CREATED', to: 'PROCESSING', reason: 'checked manually' });
  const [header, row] = showOnTerminal(args, env, 250).split('\n');
  expect(header).toMatch(/^AT +ACTOR +DATABASE_ROLE +ACTION +TARGET +DETAILS$/);
  expect(row).toContain(
    `${me}  ${role.padEnd('DATABASE_ROLE'.length)}  transfers.set-status  ${transferId}  ${details.trim()}`,
  );
});

describe('`audit export`', () => {
  const old = async (count: number) => {
    const data = Array.from({ length: count }, (_, i) => {
      const at = new Date(Date.now() - 3_600_000 + i);
      return { id: newId(at.getTime()), at, actor: 'cli:old@here', action: 'clients.revoke', details: { i } };
    });
    await database.prisma.auditEntry.createMany({ data });
    return data;
  };

  test('prints each entry as a line of JSON, optionally only those after a given entry', async () => {
    const [first, second] = await old(2);
    const { code, stdout, stderr } = await runCommand(['audit', 'export', '--since', '2h'], env);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const common = { actor: 'cli:old@here', database_role: role, action: 'clients.revoke', target: null };
    const lines = [first, second].map((entry, i) => ({
      ...{ id: entry?.id, at: entry?.at.toISOString(), ...common, details: { i } },
    }));
    // The commands of this test are exported too, a minute after they ran.
    const exported = stdout.split('\n').filter((line) => line.includes('cli:old@here'));
    expect(exported).toEqual(lines.map((line) => JSON.stringify(line)));
    const rest = await runCommand(['audit', 'export', '--after', first?.id ?? ''], env);
    expect(rest.stdout.split('\n')[0]).toBe(JSON.stringify(lines[1]));
  });

  test('follows until Ctrl-C, and ends without an error if its reader ends first', async () => {
    await old(3_000);
    const following = startCli(['audit', 'export', '--follow'], env);
    for await (const line of createInterface({ input: following.stdout! })) {
      if (!line.includes('"i":2999')) continue;
      following.kill('SIGINT');
    }
    const headed = startCli(['audit', 'export'], env);
    const [stderr] = await Promise.all([
      text(headed.stderr!),
      once(headed.stdout!, 'data').then(() => headed.stdout!.destroy()),
    ]);
    if (headed.exitCode === null) await once(headed, 'close');
    expect([following.exitCode, headed.exitCode, stderr]).toEqual([0, 0, '']);
  });
});
