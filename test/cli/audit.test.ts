import { hostname } from 'node:os';
import { newId } from '../../src/ids.js';
import { runCli } from '../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makeClient, makeEndpoint, makeTransfer } from '../support/factories.js';
import { onLinux, showOnTerminal } from '../support/terminal.js';

interface Entry {
  id: string;
  action: string;
}

let database: TestDatabase;
let env: Record<string, string>;
let transferId: string;
let clientId: string;
const me = `cli:ada@${hostname()}`;

async function json<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await runCli([...args, '--json'], env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as T;
}
const list = (...filters: string[]) => json<Entry[]>('audit', 'list', ...filters);
const actions = (entries: readonly Entry[]) => entries.map(({ action }) => action);

beforeAll(async () => {
  database = await createTestDatabase();
  env = { DATABASE_URL: database.url.reveal(), SUDO_USER: 'ada' };
  clientId = await makeClient(database);
  transferId = (await makeTransfer(database, clientId)).id;
  const endpoint = await makeEndpoint(database, clientId);
  await json('clients', 'allow', clientId, '10.0.0.0/8');
  await json('transfers', 'set-status', transferId, 'PROCESSING', '--reason', 'by hand');
  await json('endpoints', 'disable', endpoint.id);
});
afterAll(() => database.drop());

test('lists the actions of the command line with actor and time, newest first', async () => {
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
      action: 'transfers.set-status',
      target: transferId,
      details: { client_id: clientId, from: 'CREATED', to: 'PROCESSING', reason: 'by hand' },
    },
  ]);
  const [next, page, nobody] = await Promise.all([
    list('--before', ofTransfer[0]?.id ?? ''),
    list('--since', '0s'),
    list('--actor', 'cli:nobody@here'),
  ]);
  expect([actions(next), page, nobody]).toEqual([['clients.allow'], [], []]);
});

onLinux('prints the details of a status change as a readable line', async () => {
  const args = ['audit', 'list', '--target', transferId];
  const details = `CREATED → PROCESSING reason="by hand" client_id=${clientId}`;
  const { stdout } = await runCli(args, env);
  expect(stdout).toMatch(/^20\S+Z\t/);
  expect(stdout.slice(stdout.indexOf('\t'))).toBe(`\t${me}\ttransfers.set-status\t${transferId}\t${details}\n`);
  const [header, row] = showOnTerminal(args, env, 250).split('\n');
  expect(header).toMatch(/^AT +ACTOR +ACTION +TARGET +DETAILS$/);
  expect(row).toContain(`${me}  transfers.set-status  ${transferId}  ${details}`);
});

test('a refused command makes no audit entry', async () => {
  const id = newId();
  expect((await runCli(['endpoints', 'disable', id], env)).code).toBe(1);
  expect(await runCli(['audit', 'list', '--target', id], env)).toEqual({ code: 0, stdout: 'no entries\n', stderr: '' });
});
