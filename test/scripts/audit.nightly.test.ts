import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';

async function audit(registry?: string, more = {}) {
  const env = {
    ...process.env,
    ...more,
    npm_config_fetch_retries: '0',
    ...(registry && { npm_config_registry: registry }),
  };
  const child = spawn(process.execPath, ['scripts/audit.mjs'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { status: child.exitCode, out, err };
}

test('no package has a known vulnerability without a reason', async () => {
  // The registry of a developer's machine may answer no audit.
  const { status, err } = await audit(undefined, process.env.CI ? {} : { AUDIT_OPTIONAL: '1' });
  process.stderr.write(err);
  expect(status).toBe(0);
});

test('a vulnerability without a reason fails', async () => {
  const advisory = {
    ...{ id: 1, url: 'https://github.com/advisories/GHSA-1', title: 'Takes orders', severity: 'high' },
    ...{ vulnerable_versions: '<99', cwe: [], cvss: { score: 0, vectorString: null } },
  };
  const server = createServer((request, response) => {
    request.resume();
    if (request.url?.endsWith('/advisories/bulk')) response.end(JSON.stringify({ koa: [advisory] }));
    else response.writeHead(404).end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { status, err } = await audit(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    expect([err, status]).toEqual(['GHSA-1 (high): koa <99: Takes orders\n', 1]);
  } finally {
    server.close();
    server.closeAllConnections();
  }
});
