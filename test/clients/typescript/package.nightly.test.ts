import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { installPackedClient, linkPackage, type PackedClient } from '../../support/packed-client.js';
import { toolPath } from '../../support/tooling.js';

const root = join(import.meta.dirname, '../../..');
const manifest = JSON.parse(readFileSync(join(root, 'clients/typescript/package.json'), 'utf8'));

let packed: PackedClient;
beforeAll(() => {
  packed = installPackedClient();
  linkPackage(packed.folder, '@types/node');
  linkPackage(packed.folder, 'undici-types');
  linkPackage(packed.folder, 'fastify', toolPath('fastify'));
});
afterAll(() => packed?.remove());

const at = (name: string) => join(packed.folder, name);
const run = (program: string, args: string[]) =>
  execFileSync(program, args, { cwd: packed.folder, encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '' } });

/** Uses every entry and prints the results. */
const PROGRAM = `import { TransferServiceClient, TransferServiceError } from 'transfer-service-client';
import { SignatureError, signatureHeader, verify } from 'transfer-service-client/verify';
import { transferWebhooks as forExpress } from 'transfer-service-client/express';
import { transferWebhooks as forFastify } from 'transfer-service-client/fastify';
import { transferWebhooks as forKoa } from 'transfer-service-client/koa';
import { transferWebhooks as forFetch } from 'transfer-service-client/fetch';

const secret = 'whsec_0123456789abcdef';
const body = '{"id":"e-1","type":"transfer.status_changed","data":{"id":"t-1","status":"SENT"},"created_at":"2026-11-21T10:00:00.042"}';
const header = signatureHeader({ secret, t: new Date().toISOString(), body });
verify({ header, body, secret });
try {
  verify({ header, body: body + ' ', secret });
} catch (error) {
  console.log(error instanceof SignatureError && error.code);
}
const handle = forFetch({ secret, onEvent: (event) => console.log(event.data.status) });
const request = new Request('http://localhost/', { method: 'POST', headers: { 'service-signature': header }, body });
console.log((await handle(request)).status, typeof forExpress, typeof forFastify, typeof forKoa);
const client = new TransferServiceClient({ baseUrl: 'http://localhost:1', clientId: 'c', clientSecret: 's' });
try {
  await client.transfers.get('t-1', { timeoutMs: 1 });
} catch (error) {
  console.log(error instanceof TransferServiceError && error.code);
}
`;
const SAID = 'signature_mismatch\nSENT\n204 function function function\n';

describe('the tarball', () => {
  test('is small, has no dependencies, and contains what is documented and no sources', () => {
    // Twice: for ES modules and for CommonJS.
    expect(packed.size).toBeLessThanOrEqual(110 * 1024);
    expect(manifest).not.toHaveProperty('dependencies');
    expect(packed.files).toEqual(expect.arrayContaining(['README.md', 'CHANGELOG.md', 'LICENSE', 'bin.js']));
    expect(
      packed.files.filter(
        (path) =>
          !/^((dist|cjs)\/.*\.(js|d\.ts)|cjs\/package\.json|README\.md|CHANGELOG\.md|LICENSE|bin\.js|package\.json)$/.test(
            path,
          ),
      ),
    ).toEqual([]);
  });

  test('resolves with its types for every module system, node10 of TypeScript too', () => {
    const said = spawnSync(process.execPath, [toolPath('@arethetypeswrong/cli/dist/index.js'), packed.tarball]);
    expect([said.status, said.stdout.toString()]).toEqual([0, expect.stringContaining('No problems found')]);
  });
});

describe('from JavaScript', () => {
  test('every entry works in an ES module', () => {
    writeFileSync(at('program.mjs'), PROGRAM);
    expect(run(process.execPath, ['program.mjs'])).toMatch(SAID);
  });

  const REQUIRED = Object.keys(manifest.exports).map((entry) => join('transfer-service-client', entry));

  test('require() loads every entry where Node cannot require ES modules, as before 20.19', () => {
    writeFileSync(at('program.cjs'), `for (const name of ${JSON.stringify(REQUIRED)}) require(name);`);
    expect(run(process.execPath, ['--no-experimental-require-module', 'program.cjs'])).toBe('');
  });
});

describe('from TypeScript', () => {
  const CONSUMER = `${PROGRAM}
const made = await client.transfers.create({ amount: { value: 1, currency: 'EUR' }, destination: { name: 'a', account: 'b' } });
const status: 'CREATED' | 'PROCESSING' | 'SENT' | 'COMPLETED' | 'CANCELLED' | 'FAILED' | 'RETURNED' = made.status;
// @ts-expect-error a transfer needs an amount
client.transfers.create({ destination: { name: 'a', account: 'b' } });
// @ts-expect-error there is no such status
client.transfers.list({ status: 'LOST' });
// @ts-expect-error the secret of an endpoint cannot be changed
client.webhookEndpoints.update('w', { url: 'https://example.com', secret: 'another' });
client.webhookEndpoints.update('w', await client.webhookEndpoints.get('w'));
for await (const event of client.events.list()) { const id: string = event.data.id; console.log(id, status); }
export const middleware = forKoa({ secret, onEvent() {} });
`;
  /** A project that is CommonJS, and uses Fastify's types with its plugin. */
  const COMMONJS = `import Fastify = require('fastify');
import { TransferServiceClient } from 'transfer-service-client';
import { transferWebhooks } from 'transfer-service-client/fastify';
import { verify } from 'transfer-service-client/verify';

export const client = new TransferServiceClient({ baseUrl: 'https://a.example', clientId: 'c', clientSecret: 's' });
export const signedAt: Date = verify({ header: 'h', body: 'b', secret: 's' }).t;
Fastify().register(transferWebhooks, { path: '/hooks', secret: 's', onEvent: (event) => console.log(event.data.id) });
`;
  const compile = (compiler: string, file: string, code: string, options: Record<string, unknown>) => {
    writeFileSync(at(file), code);
    const compilerOptions = { target: 'es2022', strict: true, noEmit: true, skipLibCheck: false, ...options };
    writeFileSync(at('tsconfig.json'), JSON.stringify({ compilerOptions, files: [file] }));
    const { stdout, status } = spawnSync(process.execPath, [compiler, '-p', '.'], {
      cwd: packed.folder,
      encoding: 'utf8',
    });
    return { stdout, status };
  };
  const good = { stdout: '', status: 0 };
  const compilers = {
    'TypeScript 7': join(root, 'node_modules/typescript/bin/tsc'),
    'TypeScript 5': toolPath('typescript/bin/tsc'),
  };

  describe.each(Object.entries(compilers))('%s', (_, compiler) => {
    test('compiles a program', () => {
      const options = { module: 'esnext', moduleResolution: 'bundler', types: ['node'] };
      expect(compile(compiler, 'consumer.ts', CONSUMER, options)).toEqual(good);
    });
  });

  test.each([
    ['node16', 'node16'],
    ['commonjs', 'node10'],
  ])('TypeScript 5 compiles a CommonJS program with the module system %s and the resolution %s', (...system) => {
    const [module, moduleResolution] = system;
    const options = { module, moduleResolution, types: ['node'], skipLibCheck: true };
    expect(compile(compilers['TypeScript 5'], 'consumer.cts', COMMONJS, options)).toEqual(good);
  });

  test('the programs of the README compile', () => {
    const readme = readFileSync(join(root, 'clients/typescript/README.md'), 'utf8');
    const snippets = [...readme.matchAll(/<!-- snippet: (\w+)\.m?ts -->\n```ts\n(.*?)```/gs)];
    expect(snippets.map(([, name]) => name)).toEqual(['call', 'verify']);
    for (const [, name, code] of snippets) {
      const options = { module: 'nodenext', moduleResolution: 'nodenext', types: ['node'] };
      expect([name, compile(compilers['TypeScript 7'], `readme-${name}.ts`, code!, options)]).toEqual([name, good]);
    }
  });
});
