import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runCommand } from '../support/command.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makeClient, makeTransfer } from '../support/factories.js';
import { answerOnTerminal, onLinux } from '../support/terminal.js';

let database: TestDatabase;
let env: Record<string, string>;
beforeAll(async () => {
  database = await createTestDatabase();
  env = { DATABASE_URL: database.url.reveal(), SUDO_USER: 'ada' };
});
afterAll(() => database.drop());

async function revokedClient(): Promise<string> {
  const id = await makeClient(database);
  await makeTransfer(database, id, 'COMPLETED');
  await database.prisma.client.update({ where: { id }, data: { revokedAt: new Date(Date.now() - 60_000) } });
  return id;
}
const erasedAt = async (id: string) => (await database.prisma.client.findUniqueOrThrow({ where: { id } })).erasedAt;

test('`clients erase` needs --yes without a terminal', async () => {
  const id = await revokedClient();
  expect(await runCommand(['clients', 'erase', id], env)).toEqual({
    ...{ code: 1, stdout: '' },
    stderr: 'this cannot be undone; give --yes if there is no terminal to ask on\n',
  });
  expect(await erasedAt(id)).toBeNull();
  const { code, stdout } = await runCommand(['clients', 'erase', id, '--yes', '--json'], env);
  expect([code, JSON.parse(stdout)]).toEqual([0, { client_id: id, transfers: 1, endpoints: 0 }]);
  const shown = await runCommand(['clients', 'show', id, '--json'], env);
  expect(JSON.parse(shown.stdout)).toMatchObject({ name: 'erased', erased_at: expect.any(String) });
});

onLinux('on a terminal it erases only after `yes`', async () => {
  const id = await revokedClient();
  const answer = (input: string) => answerOnTerminal(['clients', 'erase', id], env, input);
  expect(answer('no\n')).toContain('nothing was changed');
  expect(await erasedAt(id)).toBeNull();
  expect(answer('yes\n')).toContain('erased: 1 transfers');
  expect(await erasedAt(id)).not.toBeNull();
});

test('`transfers expire` needs TRANSFER_RETENTION and prints how many transfers it removed', async () => {
  const { code, stderr } = await runCommand(['transfers', 'expire'], env);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^TRANSFER_RETENTION: is not set[^\n]*\n$/)]);
  const expired = await runCommand(['transfers', 'expire', '--json'], { ...env, TRANSFER_RETENTION: '3650d' });
  expect(expired).toEqual({ code: 0, stdout: '{\n  "removed": 0\n}\n', stderr: '' });
});
