import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { transformFileSync } from '@swc/core';
import pg from 'pg';
import { verify } from '../../clients/typescript/src/verify.js';
import { signatureHeader } from '../../src/delivery/sender/headers.js';
import { Secret } from '../../src/platform/secret.js';
import { openFolder } from '../support/folder.js';

// Each snippet of the integrators' guide, and each verifier of `clients` without tests of its own, is run if its runtime
// is installed.
const root = join(import.meta.dirname, '../..');
const guide = readFileSync(join(root, 'docs/guide.md'), 'utf8');
const folder = openFolder();
const at = (name: string) => join(folder, name);
const snippets = new Map(
  [...guide.matchAll(/<!-- snippet: (\S+) -->\n```\w+\n(.*?)```/gs)].map(([, name, code]) => [name!, code!]),
);
for (const [name, code] of snippets) writeFileSync(at(name), code);
for (const name of ['rust/verify.rs', 'elixir/verify.ex'])
  copyFileSync(join(root, 'clients', name), at(basename(name)));

const secret = 'whsec_0123456789abcdef';
const body = '{"id":"1","type":"transfer.status_changed","data":{"id":"2","status":"SENT","name":"Zoë 東京"}}';
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
const signed = (t: string) => signatureHeader({ secret: new Secret(secret), t, body });
const genuine = { header: signed(minutesAgo(0)), body, secret };
type Delivery = { header: string | null; body: string; secret: string };
const cases: { name: string; delivery: Delivery; accepted: boolean }[] = [
  { name: 'genuine', delivery: genuine, accepted: true },
  { name: 'the body was changed', delivery: { ...genuine, body: body.replace('SENT', 'FAILED') }, accepted: false },
  { name: 'another secret', delivery: { ...genuine, secret: 'another-secret-entirely' }, accepted: false },
  { name: 'too old', delivery: { ...genuine, header: signed(minutesAgo(6)) }, accepted: false },
  { name: 'a little ahead', delivery: { ...genuine, header: signed(minutesAgo(-4)) }, accepted: true },
  { name: 'no header', delivery: { ...genuine, header: null }, accepted: false },
];
interface Vector {
  name: string;
  expected: string;
  header: string | null;
  body_base64: string;
  secret: string;
  now: string;
}
const vectors: Vector[] = JSON.parse(readFileSync(join(root, 'clients/vectors/signatures.json'), 'utf8')).cases;
/** The cases above at the present time, and the shared vectors at theirs. */
const judged = [
  ...cases.map(({ name, delivery: { header, body, secret }, accepted }) => {
    return { name, header, body_base64: Buffer.from(body).toString('base64'), secret, now: null, accepted };
  }),
  ...vectors.map(({ name, ...vector }) => ({
    ...vector,
    name: `vector: ${name}`,
    accepted: vector.expected === 'valid',
  })),
];
writeFileSync(at('cases.json'), JSON.stringify(judged));

function driver(name: string, as = name): void {
  copyFileSync(join(import.meta.dirname, 'drivers', name), at(as));
}

/**
 * Compiles TypeScript to JavaScript, and makes `transfer-service-client/verify` resolvable through the package's
 * exports.
 */
function javascript(name: string, source = at(name)): string {
  const target = at(name.replace(/\.ts$/, '.mjs'));
  writeFileSync(
    target,
    transformFileSync(source, { jsc: { parser: { syntax: 'typescript' }, target: 'es2023' } }).code,
  );
  return target;
}

function installPackage(): void {
  const manifest = JSON.parse(readFileSync(join(root, 'clients/typescript/package.json'), 'utf8'));
  const target = join(folder, 'node_modules/transfer-service-client', manifest.exports['./verify'].import.default);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(join(folder, 'node_modules/transfer-service-client/package.json'), JSON.stringify(manifest));
  for (const name of ['verify', 'explain', 'standard']) {
    const source = join(root, `clients/typescript/src/${name}.ts`);
    copyFileSync(javascript(`package-${name}.ts`, source), join(dirname(target), `${name}.js`));
  }
}

const run = (command: string, args: string[]) =>
  execFileSync(command, args, { cwd: folder, encoding: 'utf8', env: process.env });
const here = (command: string, version: string) => spawnSync(command, [version]).status === 0;
const where = (found: boolean) => (found ? test : test.skip);
const expected = Object.fromEntries(judged.map(({ name, accepted }) => [name, accepted]));
const verdicts = (output: string) => {
  const given: boolean[] = JSON.parse(output);
  return Object.fromEntries(judged.map(({ name }, i) => [name, given[i]]));
};

test('the example delivery of the reference has a valid signature', () => {
  const reference = readFileSync(join(root, 'docs/reference.md'), 'utf8');
  const [, header = '', shown = ''] = /Service-Signature: (\S+)\n\n(.*)\n```/.exec(reference) ?? [];
  const [, t = ''] = /t=([^,]+)/.exec(header) ?? [];
  expect(verify({ header, body: shown, secret, now: new Date(t) }).t.toISOString()).toBe(t);
  expect(reference).toContain(`signed with the secret \`${secret}\``);
});

test('the TypeScript snippets compile without errors', () => {
  writeFileSync(
    at('tsconfig.json'),
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        types: ['node'],
        typeRoots: [join(root, 'node_modules/@types')],
        rootDir: '/',
        paths: { 'transfer-service-client/verify': [join(root, 'clients/typescript/src/verify.ts')] },
      },
      include: [...snippets.keys()].filter((name) => name.endsWith('.ts')),
    }),
  );
  // The snippets are ES modules.
  writeFileSync(at('package.json'), '{"type":"module"}');
  run(join(root, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.json']);
});

const base64 = (text: string) => Buffer.from(text).toString('base64');
const orNull = (text: string | null) => (text === null ? 'null' : base64(text));
/** For a language without a JSON parser: header, body, secret and time of each case in base64, or `null`. */
const given = judged.flatMap(({ header, body_base64, secret, now }) => [
  ...[orNull(header), body_base64, base64(secret), orNull(now)],
]);

where(here('elixir', '--version'))('Elixir', () => {
  driver('driver.exs.txt', 'driver.exs');
  expect(verdicts(run('elixir', ['driver.exs', ...given]))).toEqual(expected);
});

// The crates come from the registry.
where(here('cargo', '--version'))(
  'Rust',
  () => {
    driver('driver.rs.txt', 'driver.rs');
    driver('Cargo.toml');
    expect(verdicts(run('cargo', ['run', '--quiet', '--', ...given]))).toEqual(expected);
  },
  300_000,
);

where(here('openssl', 'version')).each([
  { name: 'genuine', changed: body, says: /^genuine, signed at 20/ },
  { name: 'changed', changed: body.replace('SENT', 'FAILED'), says: /^NOT genuine/ },
])('openssl: $name', ({ changed, says }) => {
  writeFileSync(at('body.json'), changed);
  writeFileSync(at('header.txt'), genuine.header);
  writeFileSync(at('webhook-secret'), secret);
  expect(run('sh', ['verify.sh'])).toMatch(says);
});

// It leaves the time to the reader.
where(here('openssl', 'version'))('openssl passes the vectors, but for their times', () => {
  const said = vectors
    .filter(({ header, expected, secret }) => header && expected !== 'bad_timestamp' && !secret.endsWith('\n'))
    .map(({ name, header, body_base64, secret, expected }) => {
      writeFileSync(at('body.json'), Buffer.from(body_base64, 'base64'));
      writeFileSync(at('header.txt'), header ?? '');
      writeFileSync(at('webhook-secret'), secret);
      const accepted = !run('sh', ['verify.sh']).startsWith('NOT');
      return { name, right: accepted === ['valid', 'too_old', 'too_new'].includes(expected) };
    });
  expect(said.filter(({ right }) => !right)).toEqual([]);
});

describe('Node.js, with transfer-service-client/verify', () => {
  const receivers: ChildProcess[] = [];
  afterAll(async () => {
    for (const receiver of receivers) if (receiver.kill()) await once(receiver, 'exit');
  });

  test('the receiver accepts a genuine delivery once and rejects forged deliveries', async () => {
    installPackage();
    // The snippet does not print its port if it listens on a free port.
    const listening = readFileSync(javascript('receiver.ts'), 'utf8').replace(
      /\.listen\((.*)\);\s*$/,
      ".listen(0, '127.0.0.1', function () { console.log('port ' + this.address().port); });",
    );
    writeFileSync(at('receiver.mjs'), listening);
    const receiver = spawn(process.execPath, ['receiver.mjs'], {
      cwd: folder,
      env: { ...process.env, WEBHOOK_SECRET: secret, NODE_OPTIONS: '' },
    });
    receivers.push(receiver);
    const lines = createInterface(receiver.stdout)[Symbol.asyncIterator]();
    const port = /^port (\d+)$/.exec((await lines.next()).value ?? '')?.[1];
    const post = async (delivery: Delivery) => {
      const headers =
        delivery.header === null ? undefined : { 'Service-Signature': Buffer.from(delivery.header).toString('latin1') };
      const { status } = await fetch(`http://127.0.0.1:${port}/`, {
        method: 'POST',
        body: delivery.body,
        ...(headers && { headers }),
      });
      return status;
    };
    for (const { name, delivery, accepted } of cases) {
      if (delivery.secret === secret) expect([name, await post(delivery)]).toEqual([name, accepted ? 204 : 400]);
    }
    expect(await post(genuine)).toBe(204);
    receiver.kill();
    const said = [(await lines.next()).value, (await lines.next()).done];
    expect(said).toEqual(['transfer 2 is now SENT', true]);
  });
});

test('once.sql keeps the newest status in a session with a local time zone, when the clocks change too', async () => {
  const client = new pg.Client({ connectionString: process.env.TEST_DATABASE_URL });
  await client.connect();
  await client.query(`set timezone = 'Europe/Berlin'`);
  await client.query('create temp table orders (transfer_id text, status text, changed_at timestamptz)');
  const update = /^update .*?;/ms.exec(snippets.get('once.sql') ?? '')?.[0] ?? '';
  // $1 is the event's id, which only the insert has.
  const text = update.replaceAll(/\$(\d)/g, (_, number) => `$${Number(number) - 1}`);
  for (const [transfer, ...times] of [
    ['spring', '2026-03-29T02:30:00.000', '2026-03-29T03:10:00.000'],
    ['autumn', '2026-10-25T00:30:00.000', '2026-10-25T01:10:00.000'],
  ]) {
    await client.query('insert into orders values ($1)', [transfer]);
    for (const [i, at] of [...times, times[0]].entries()) {
      await client.query(text, [['PROCESSING', 'SENT', 'late'][i], transfer, at]);
    }
  }
  const { rows } = await client.query('select status, changed_at from orders order by changed_at');
  await client.end();
  expect(rows).toEqual([
    { status: 'SENT', changed_at: new Date('2026-03-29T03:10:00.000Z') },
    { status: 'SENT', changed_at: new Date('2026-10-25T01:10:00.000Z') },
  ]);
});
