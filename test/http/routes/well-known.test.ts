import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import * as oauth from 'oauth4webapi';
import { type AuthApi, type Credentials, startAuthApi } from '../../support/auth-api.js';
import { importTool } from '../../support/tooling.js';

const openid = await importTool('openid-client');

// The tests use plain HTTP on the same machine on purpose; the libraries mark the option for it as deprecated.
const insecure = { [oauth.allowInsecureRequests]: true };

describe.each(['', '/a/b'])('below an AUTH_URL with the path %j', (authPath) => {
  let auth: AuthApi;
  let client: Credentials;
  beforeAll(async () => {
    auth = await startAuthApi({ authPath });
    client = await auth.client();
  });
  afterAll(() => auth.close());

  const opens = async (token: string) => {
    const headers = { Authorization: `Bearer ${token}` };
    expect((await auth.api.call('GET', '/webhook-endpoints', { headers })).status).toBe(200);
    const keys = createRemoteJWKSet(new URL(`${auth.authUrl}/.well-known/jwks.json`));
    const expected = { issuer: auth.authUrl, audience: auth.baseUrl, typ: 'at+jwt' };
    expect((await jwtVerify(token, keys, expected)).payload.sub).toBe(client.client_id);
  };

  it('the metadata has the URLs of all endpoints', async () => {
    const reply = await auth.api.call('GET', `/.well-known/oauth-authorization-server${authPath}`);
    expect(reply.status).toBe(200);
    expect(reply.headers.get('content-type')).toMatch(/^application\/json/);
    expect(reply.body).toEqual({
      issuer: auth.authUrl,
      token_endpoint: `${auth.authUrl}/oauth/token`,
      jwks_uri: `${auth.authUrl}/.well-known/jwks.json`,
      scopes_supported: [
        'transfers:read',
        'transfers:write',
        'webhooks:read',
        'webhooks:write',
        'operator:transfers',
        'operator:clients',
        'operator',
      ],
      response_types_supported: [],
      grant_types_supported: ['client_credentials'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
      token_endpoint_auth_signing_alg_values_supported: ['RS256', 'PS256', 'ES256', 'EdDSA'],
    });
  });

  // Spring Security requires the two lists, and reads this document first: it gave up at one without them.
  it('the metadata at the path of OpenID has every member that its discovery requires', async () => {
    const reply = await auth.api.call('GET', `${authPath}/.well-known/openid-configuration`);
    const { body: metadata } = await auth.api.call('GET', `/.well-known/oauth-authorization-server${authPath}`);
    expect([reply.status, reply.body]).toEqual([
      200,
      {
        ...metadata,
        response_types_supported: ['none'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
      },
    ]);
  });

  it.each([
    ['client_secret_basic', openid.ClientSecretBasic],
    ['client_secret_post', openid.ClientSecretPost],
  ])('openid-client discovers it and gets a token by %s', async (_, method) => {
    for (const algorithm of ['oauth2', 'oidc'] as const) {
      const server = await openid.discovery(
        new URL(auth.authUrl),
        client.client_id,
        client.client_secret,
        method(client.client_secret),
        { algorithm, execute: [openid.allowInsecureRequests] },
      );
      const parameters = { audience: auth.baseUrl, scope: 'webhooks:read' };
      const response = await openid.clientCredentialsGrant(server, parameters);
      expect([response.token_type, response.expires_in, response.scope]).toEqual(['bearer', 3600, 'webhooks:read']);
      await opens(response.access_token);
    }
  });

  it('oauth4webapi discovers it and gets a token', async () => {
    const issuer = new URL(auth.authUrl);
    const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure });
    const server = await oauth.processDiscoveryResponse(issuer, found);
    const me = { client_id: client.client_id };
    const method = oauth.ClientSecretBasic(client.client_secret);
    const resource = new URLSearchParams({ resource: auth.baseUrl });
    const sent = await oauth.clientCredentialsGrantRequest(server, me, method, resource, insecure);
    const response = await oauth.processClientCredentialsResponse(server, me, sent);
    await opens(response.access_token);
  });

  it('the keys are served at one path for each kind of proxy', async () => {
    const { keys } = await auth.authority.jwks();
    for (const path of ['/.well-known/jwks.json', `${authPath}/.well-known/jwks.json`]) {
      expect((await auth.api.call('GET', path)).body).toEqual({ keys });
    }
    expect((await auth.api.call('POST', '/.well-known/jwks.json')).status).toBe(405);
  });
});
