import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../src/platform/free-port.js';
import { must } from '../support/caller.js';
import { openFolder } from '../support/folder.js';
import { makeLocalDir } from '../support/local-dir.js';
import { type ServiceProcess, startService } from '../support/service-process.js';
import { transferRequest } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// The commands of the guide and the reference, pasted into one terminal in their order, against a real sandbox.

const root = join(import.meta.dirname, '../..');
const guide = ['guide', 'reference'].map((name) => readFileSync(join(root, `docs/${name}.md`), 'utf8')).join('\n');
const commands = new Map(
  [...guide.matchAll(/<!-- run: (\S+) -->\n *```sh\n(.*?)```/gs)].map(([, name, code]) => [name!, code!]),
);
const local = makeLocalDir();
const folder = openFolder();
let service: ServiceProcess;
let terminal: ChildProcess;
let receiverPort: number;
let screen = '';
const pasted = new Set<string>();

/** Pastes a command of the guide. @returns its output, including that of its background processes */
async function paste(name: string): Promise<string> {
  const code = commands.get(name);
  pasted.add(name);
  if (code === undefined) throw new Error(`the guide has no command ${name}`);
  return type(code.replaceAll('4100', String(receiverPort)));
}

/** Types lines into the terminal. @returns what they printed */
async function type(lines: string): Promise<string> {
  const begin = screen.length;
  terminal.stdin?.write(`${lines}\necho "done: $?"\n`);
  await waitFor(`the end of ${lines}`, () => /done: \d+\n/.test(screen.slice(begin)));
  const printed = screen.slice(begin);
  if (!printed.includes('done: 0\n')) throw new Error(`${lines} failed:\n${printed}`);
  return printed.replace('done: 0\n', '');
}

/** Waits until a command of the guide, pasted again and again, prints what `expected` matches. */
const pasteUntil = (name: string, expected: RegExp) =>
  waitFor(`${name} to print ${expected}`, async () => expected.exec(await paste(name)));

const variable = async (name: string) => (await type(`echo "$${name}"`)).trim();

beforeAll(async () => {
  receiverPort = await freePort();
  service = await startService(local.path, { RATE_LIMIT: '100' });
  copyFileSync(join(local.path, 'sandbox-client.json'), join(folder, 'credentials.json'));
  const client = join(folder, 'client');
  execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', join(root, 'clients/typescript'), '--outDir', client]);
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  copyFileSync(join(root, 'clients/typescript/package.json'), join(folder, 'client/package.json'));
  mkdirSync(join(folder, 'bin'));
  // `npx` without its look into the registry.
  const npx = `#!/bin/sh
program=$1; shift
case $program in
  transfer-service) exec "${process.execPath}" "${join(root, 'dist/src/cli.js')}" "$@" ;;
  transfer-service-client) exec "${process.execPath}" "${join(client, 'cli/main.js')}" "$@" ;;
esac
exit 127
`;
  writeFileSync(join(folder, 'bin/npx'), npx, { mode: 0o755 });
  const { PATH, HOME } = process.env;
  terminal = spawn('bash', [], {
    cwd: folder,
    env: { PATH: `${join(folder, 'bin')}:${PATH}`, HOME, LOCAL_DIR: local.path },
  });
  for (const stream of [terminal.stdout, terminal.stderr]) stream?.on('data', (text) => (screen += text));
  // As in an interactive shell, each background job is a process group.
  await type('set -m');
}, 240_000);

afterAll(async () => {
  if (terminal?.exitCode === null) {
    terminal.stdin?.end('kill -- -$RECEIVER; kill -- -$BRIDGE; exit\n');
    await once(terminal, 'exit');
  }
  await service?.stop();
  await local.remove();
});

test('the first delivery arrives, verified', async () => {
  for (const name of ['variables', 'token', 'secret', 'receiver']) await paste(name);
  for (const name of ['register', 'transfer']) await paste(name);
  for (const status of ['PROCESSING', 'SENT', 'COMPLETED']) {
    await waitFor(`the delivery of ${status}`, () =>
      new RegExp(`${status} .*signature verified {2}→ 204`).test(screen),
    );
  }
  await pasteUntil('deliveries', /"status":"succeeded","attempt_count":1,"answered":204/);
});

test('the receiver passes its check, and the metadata names the environment', async () => {
  await paste('check');
  const report = await pasteUntil('report', /"passed"\n(.*\n)+/);
  expect(report[0].match(/"passed":true,"hint":null/g)).toHaveLength(9);
  expect(await paste('meta')).toMatch(/"environment": "sandbox".*"egress_addresses": \[\]/s);
});

test('after an outage, a recovery sends what was missed, and the statement proves that everything has arrived', async () => {
  expect(await paste('statement')).toMatch(/"missing":0,"complete":true,/);
  expect(await paste('missing')).toContain('{"missing":[],"has_more":false}');

  const [path, put] = [`/webhook-endpoints/${await variable('WEBHOOK_ID')}`, { url: await variable('RECEIVER_URL') }];
  await must(service.client('PUT', path, { ...put, enabled: false }));
  const { id } = await must(service.client('POST', '/transfers', transferRequest()));
  await must(service.client('POST', `/sandbox/transfers/${id}/status`, { status: 'CANCELLED' }));
  expect(await paste('endpoint')).toContain('{"enabled":false,"disabled_reason":"owner"}');
  expect(await paste('statement')).toMatch(/"missing":1,"complete":false,/);
  expect(await paste('missing')).toMatch(/{"missing":\["[0-9a-f-]{36}"\],"has_more":false}/);
  expect(await paste('enable')).toContain('{"enabled":true,"disabled_reason":null}');
  // The receiver prints to the same terminal.
  expect(await paste('recover')).toContain('"count":0,"missing":1,"pending":0}');
  await waitFor('its delivery', () => /CANCELLED .*signature verified {2}→ 204/.test(screen));
  // Each request counts towards the 20 statements a minute. Past them, a later one in the next minute answers.
  await pasteUntil('statement', /"missing":0,"complete":true,/);
  await pasteUntil('proof', /"events":\d+,"complete":true,"final":true/);
});

test('the switch of the secret shows what the old endpoint has still to deliver', async () => {
  await type('NEW_ID=$WEBHOOK_ID');
  await pasteUntil('switch', /{"pending":0,"failed":0,"cancelled":0,"final":(true|false)}/);
});

test('a digest that a receiver computed is explained, by the service and on the spot', async () => {
  const { data } = await must(service.client('GET', `/webhook-endpoints/${await variable('WEBHOOK_ID')}/deliveries`));
  const { id, event_id, attempts } = await must(service.client('GET', `/deliveries/${data[0].id}`));
  const { deliveries: _, ...event } = await must(service.client('GET', `/events/${event_id}`));
  const body = JSON.stringify(event);
  const [{ t }] = attempts;
  const sign = (text: string) =>
    createHmac('sha256', readFileSync(join(folder, 'webhook-secret')))
      .update(text)
      .digest('hex');
  writeFileSync(join(folder, 'body.json'), body);
  writeFileSync(join(folder, 'header.txt'), `t=${t},v0=${sign(`${t}.${body}`)}`);
  await type(`EVENT_ID=${event_id} DIGEST=${sign(body)}`);
  await paste('find-delivery');
  expect(await variable('DELIVERY_ID')).toBe(id);
  expect(await paste('verify')).toContain('verified');
  expect(await paste('explain')).toContain('"explanation": "body_without_timestamp"');
});

test('a sign-in link to the console is made', async () => {
  expect(await paste('console-link')).toMatch(/"url":"http:[^"]*\/console\/sign-in\/[^"]+#[^"]+"/);
});

test('the bridge posts the events of the account to a receiver on the same machine', async () => {
  await paste('bridge');
  await waitFor('the bridge', () => screen.includes('forwarding the events'));
  const begin = screen.length;
  await paste('transfer');
  // Once by the delivery to the endpoint, and once by the bridge: the same event.
  const verified = () => screen.slice(begin).match(/PROCESSING .*signature verified.*→ 204/g)?.length === 2;
  await waitFor('the event to arrive twice', verified);
});

test('the last step removes what the guide made', async () => {
  await type('kill -- -$BRIDGE');
  await paste('clean-up');
  const { data } = await must(service.client('GET', '/webhook-endpoints'));
  expect(data).toEqual([]);
  expect(readdirSync(folder)).not.toEqual(
    expect.arrayContaining([expect.stringMatching(/credentials|webhook-secret/)]),
  );
  await type(`until ! curl -so /dev/null http://127.0.0.1:${receiverPort}/; do sleep 0.1; done; wait`);
});

test('the guide has its own port: README and the package listen on 4000', () => {
  const ports = [...commands.values()].flatMap((code) => code.match(/(?<=localhost:|--port )\d+/g) ?? []);
  expect([...new Set(ports)]).toEqual(['4100']);
});

test('every command of the guide was run here, or is run by the snippets', () => {
  const marked = guide.match(/<!-- (?:run|snippet): \S+ -->\n *```sh\n/g) ?? [];
  expect(guide.match(/```sh\n/g)).toHaveLength(marked.length);
  expect([...commands.keys()].filter((name) => !pasted.has(name))).toEqual([]);
});
