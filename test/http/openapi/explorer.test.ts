import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import type { OpenApiDocument } from '../../../src/http/openapi/document.js';
import { explorerScript } from '../../../src/http/openapi/explorer.js';
import { openApi, startApi } from '../../support/api.js';

const api = await openApi();
const document: OpenApiDocument = (await api.call('GET', '/openapi.json')).body;

describe('/docs', () => {
  it('links the guide for readers without script, and has no inline script', async () => {
    const { status, headers, text } = await api.call('GET', '/docs');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^text\/html/);
    expect(text).toMatch(/<noscript>.*href="docs\/guide".*<\/noscript>/);
    expect(text).not.toMatch(/<script(?! src="docs\/)|https?:[^<]*<\/script>|\son\w+=/i);
  });

  it.each(['sandbox', 'production'])('has a policy by which only paths of the API are reached, in %s', async (name) => {
    const env = name === 'sandbox' ? {} : { ENVIRONMENT: name, MASTER_KEY: randomBytes(32).toString('base64') };
    const here = await startApi({ env: { ...env, AUTH_URL: 'https://auth.test/path' }, database: api.database });
    const { headers } = await here.call('GET', '/docs');
    const policy = Object.fromEntries(
      (headers.get('content-security-policy') ?? '').split('; ').map((directive) => directive.split(/ (.*)/)),
    );
    expect(policy).toMatchObject({
      ...{ 'default-src': "'none'", 'script-src': "'self'", 'frame-src': "'none'", 'frame-ancestors': "'none'" },
      ...{ 'form-action': "'none'", 'base-uri': "'none'" },
    });
    const reached: string[] = policy['connect-src'].split(' ');
    if (name === 'production') expect(reached).toEqual(["'none'"]);
    else {
      expect(reached).toEqual(expect.arrayContaining(['https://api.test/transfers', 'https://api.test/transfers/']));
      expect(reached).toContain('https://auth.test/path/oauth/token');
      for (const source of reached) expect(source).toMatch(/^https:\/\/(api|auth)\.test\/(?!console)./);
    }
    await here.close();
  });

  it.each(['sandbox', 'production'] as const)('has an explorer that sends requests in the sandbox only: %s', (name) => {
    const urls = { baseUrl: 'https://api.test', authUrl: 'https://api.test' };
    const script = explorerScript(document, { environment: name, ...urls });
    const [, json = ''] = /SwaggerUIBundle\({\s*\.\.\.(.*),\n/.exec(script) ?? [];
    const { persistAuthorization, supportedSubmitMethods } = JSON.parse(json);
    expect([persistAuthorization, supportedSubmitMethods.length > 0]).toEqual([false, name === 'sandbox']);
  });

  it.each([
    ['/docs/swagger-ui.js', 'swagger-ui-bundle.js', 'text/javascript'],
    ['/docs/swagger-ui.css', 'swagger-ui.css', 'text/css'],
  ])('serves %s exactly as in the package, compressed', async (path, name, type) => {
    const file = readFileSync(`node_modules/swagger-ui-dist/${name}`);
    const [reply, body] = await encoded(path);
    expect(reply.headers).toMatchObject({
      ...{ 'content-type': `${type}; charset=utf-8`, 'content-encoding': 'gzip' },
      'cache-control': 'public, max-age=300',
    });
    expect(gunzipSync(body).equals(file)).toBe(true);
    const again = await encoded(path, { 'If-None-Match': String(reply.headers.etag) });
    expect([again[0].statusCode, again[1].length]).toEqual([304, 0]);
    expect(readFileSync('dist/explorer/LICENSE', 'utf8')).toContain('Apache License');
    expect(readFileSync('dist/explorer/NOTICE', 'utf8')).toContain('swagger-ui');
  });
});

/** The bytes as sent: fetch would decompress them. */
async function encoded(path: string, headers = {}): Promise<[IncomingMessage, Buffer]> {
  const sent = request(`${api.url}${path}`, { headers }).end();
  const [reply] = (await once(sent, 'response')) as [IncomingMessage];
  return [reply, await buffer(reply)];
}
