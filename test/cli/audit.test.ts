import { once } from 'node:events';
import { hostname } from 'node:os';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { newId } from '../../src/platform/ids.js';
import { startCli } from '../support/cli.js';
import { runCommand } from '../support/command.js';
import { openTestDatabase } from '../support/database.js';
import { makeClient, makeTransfer } from '../support/factories.js';

const database = await openTestDatabase();
const env = { DATABASE_URL: database.url.reveal(), SUDO_USER: 'ada' };
const me = `cli:ada@${hostname()}`;
/** The role of the tests' server. */
const role = new URL(process.env.TEST_DATABASE_URL ?? '').username;

async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(args, env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

/** Makes entries of an hour ago. */
async function old(count: number) {
  const data = Array.from({ length: count }, (_, i) => {
    const at = new Date(Date.now() - 3_600_000 + i);
    return { id: newId(at.getTime()), at, actor: 'cli:old@here', action: 'clients.revoke', details: { i } };
  });
  await database.prisma.auditEntry.createMany({ data });
  return data;
}

test('`audit list` has the actions of commands with actor, role and time, newest first', async () => {
  const clientId = await makeClient(database);
  const { id: transferId } = await makeTransfer(database, clientId);
  await run('clients', 'allow', clientId, '10.0.0.0/8');
  await run('transfers', 'set-status', transferId, 'PROCESSING', '--reason', 'checked manually');
  const entries = JSON.parse(await run('audit', 'list', '--actor', me, '--since', '1h', '--json'));
  expect(entries).toMatchObject([{ action: 'transfers.set-status' }, { action: 'clients.allow' }]);
  expect(entries[0]).toEqual({
    id: expect.any(String),
    at: expect.stringMatching(/^20.*Z$/),
    actor: me,
    database_role: role,
    action: 'transfers.set-status',
    target: transferId,
    details: { client_id: clientId, from: 'CREATED', to: 'PROCESSING', reason: 'checked manually' },
  });
  const line = await run('audit', 'list', '--target', transferId);
  const details = line.split('\t').at(-1) ?? '';
  expect(line).toBe(`${entries[0].at}\t${me}\t${role}\ttransfers.set-status\t${transferId}\t${details}`);
  expect(JSON.parse(details)).toMatchObject({ from: 'CREATED', to: 'PROCESSING' });
  expect(await run('audit', 'list', '--before', entries[0].id, '--action', 'clients', '--limit', '1')).toContain(
    '\tclients.allow\t',
  );
});

test('`audit export` prints each entry as a line of JSON, optionally only those after a given entry', async () => {
  const [first, second] = await old(2);
  const common = { actor: 'cli:old@here', database_role: role, action: 'clients.revoke', target: null };
  const lines = [first, second].map((entry, i) =>
    JSON.stringify({ id: entry?.id, at: entry?.at.toISOString(), ...common, details: { i } }),
  );
  expect((await run('audit', 'export', '--since', '2h')).split('\n')).toEqual(expect.arrayContaining(lines));
  expect((await run('audit', 'export', '--after', first?.id ?? '')).split('\n')[0]).toBe(lines[1]);
});

test('`audit export` follows until Ctrl-C, and ends without an error if its reader ends first', async () => {
  await old(3_000);
  const following = startCli(['audit', 'export', '--follow'], env);
  for await (const line of createInterface({ input: following.stdout! })) {
    if (line.includes('"i":2999')) following.kill('SIGINT');
  }
  const headed = startCli(['audit', 'export'], env);
  const [stderr] = await Promise.all([
    text(headed.stderr!),
    once(headed.stdout!, 'data').then(() => headed.stdout!.destroy()),
  ]);
  if (headed.exitCode === null) await once(headed, 'close');
  expect([following.exitCode, headed.exitCode, stderr]).toEqual([0, 0, '']);
});
