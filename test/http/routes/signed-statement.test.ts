import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { verifyStatementCommand } from '../../../clients/typescript/src/cli/verify-statement.js';
import { StatementError, verifyStatement } from '../../../clients/typescript/src/statement.js';
import { revokeSigningKey, rotateSigningKey } from '../../../src/auth/signing-keys.js';
import { openAuthApi } from '../../support/auth-api.js';
import { makeDelivered, makeEvent } from '../../support/events.js';
import { masterKeys, OPERATOR } from '../../support/factories.js';
import { openFolder } from '../../support/folder.js';
import { endpointRequest } from '../../support/transfers.js';
import { clients, runIn, testWith } from '../../support/vectors.js';
import { waitFor } from '../../support/wait-for.js';

const HOUR = 3_600_000;
const folder = openFolder();
const save = (name: string, content: string | object) => {
  writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  return join(folder, name);
};

const since = Date.now() - HOUR;
const iso = (at: number) => new Date(at).toISOString();

const auth = await openAuthApi();
const credentials = await auth.client();
const clientId = credentials.client_id;
const { access_token } = (await auth.token(credentials)).body;
const call = (method: string, path: string, json?: object) =>
  auth.api.call(method, path, { ...(json && { json }), headers: { Authorization: `Bearer ${access_token}` } });
const { webhookId } = (await call('POST', '/webhook-endpoints', endpointRequest())).body;
const ids: string[] = [];
for (const at of [since + 2, since, since + 1]) {
  ids.push((await makeDelivered(auth.database, { clientId, endpointId: webhookId, at, status: 'succeeded' })).eventId);
}
// Two of one millisecond, and some outside of the window.
ids.push(await makeEvent(auth.database, clientId, since + 1));
for (const at of [since - 1, since + HOUR / 2]) await makeEvent(auth.database, clientId, at);

const read = async (until = since + HOUR / 2) => {
  const query = new URLSearchParams({ since: iso(since), until: iso(until) });
  return (await call('GET', `/webhook-endpoints/${webhookId}/statement?${query}`)).body;
};
const jwks = async (query = '?retired=true') => (await auth.api.call('GET', `/.well-known/jwks.json${query}`)).body;

it('has the digest of the ids of its events, which lists with exclusive bounds read from 1 ms before `since`', async () => {
  const { digest, events } = await read();
  const lines = [...ids].sort().map((id) => `${id}\n`);
  expect([events, digest]).toEqual([4, createHash('sha256').update(lines.join('')).digest('hex')]);
  const query = new URLSearchParams({ created_after: iso(since - 1), created_before: iso(since + HOUR / 2) });
  const { data } = (await call('GET', `/events?${query}`)).body;
  expect(data.map(({ id }: { id: string }) => id).sort()).toEqual([...ids].sort());
});

it('is signed once it is final, and jose verifies the signature', async () => {
  const statement = await read();
  const keys = createRemoteJWKSet(new URL(`${auth.authUrl}/.well-known/jwks.json?retired=true`));
  const expected = { typ: 'statement+jwt', algorithms: ['RS256'], issuer: auth.authUrl, subject: clientId };
  const { payload } = await jwtVerify(statement.signature, keys, expected);
  const { final, signature, disabled_periods, periods_known_since, ...fields } = statement;
  expect(payload).toEqual({ iss: auth.authUrl, sub: clientId, iat: payload.iat, webhookId, ...fields });
  expect(Object.keys(payload)).toHaveLength(14);
  expect(Math.abs(Number(payload.iat) * 1_000 - Date.now())).toBeLessThan(60_000);
  expect(await read(Date.now() - 40_000)).toMatchObject({ final: false, signature: null, digest: expect.any(String) });
});

it('gives no access as a token', async () => {
  const { signature } = await read();
  const headers = { Authorization: `Bearer ${signature}` };
  expect(await auth.api.call('GET', '/webhook-endpoints', { headers })).toMatchObject({
    status: 401,
    body: { code: 'invalid_token' },
  });
});

it('is verified by the client package, which names what is wrong', async () => {
  const statement = await read();
  const evidence = { statement, jwks: await jwks(), issuer: auth.authUrl, ids };
  expect(verifyStatement(evidence)).toMatchObject({ sub: clientId, webhookId, events: 4, complete: false });
  const errorOf = (changes: Partial<typeof evidence>) => {
    try {
      return void verifyStatement({ ...evidence, ...changes });
    } catch (error) {
      return error instanceof StatementError ? error.code : error;
    }
  };
  const [head, payload, seal] = statement.signature.split('.');
  const other = Buffer.from(JSON.stringify({ ...decodeJwt(statement.signature), missing: 0 })).toString('base64url');
  expect({
    alone: errorOf({ statement: statement.signature }),
    unsigned: errorOf({ statement: { ...statement, signature: null } }),
    field: errorOf({ statement: { ...statement, missing: 0 } }),
    payload: errorOf({ statement: `${head}.${other}.${seal}` }),
    token: errorOf({ statement: `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.` }),
    text: errorOf({ statement: 'no.jws' }),
    keys: errorOf({ jwks: { keys: [] } }),
    issuer: errorOf({ issuer: 'https://other.example' }),
    fewer: errorOf({ ids: ids.slice(1) }),
  }).toEqual({
    alone: undefined,
    unsigned: 'not_signed',
    field: 'changed_field',
    payload: 'signature_mismatch',
    token: 'malformed_signature',
    text: 'malformed_signature',
    keys: 'unknown_key',
    issuer: 'other_issuer',
    fewer: 'other_events',
  });
});

it('is verified by the command, with the keys of the issuer or of a file', async () => {
  const file = save('statement.json', await read());
  const keys = save('jwks.json', await jwks());
  const run = async (values: Record<string, string | boolean>) => {
    const [out, err]: [string[], string[]] = [[], []];
    const print = { print: (line: string) => out.push(line), warn: (line: string) => err.push(line) };
    const io = { env: {}, signal: AbortSignal.timeout(30_000), ...print, values, positionals: [file] };
    return { code: await verifyStatementCommand.run(io as never), out, err };
  };
  const verified = await run({ ids: save('ids', `${ids.join('\r\n')}\n`) });
  expect(verified).toMatchObject({ code: 0, err: [] });
  expect(verified.out.join('\n')).toMatch(new RegExp(`signed by ${auth.authUrl}[^]*the ids are those of these events`));
  expect(await run({ ids: save('fewer', ids.slice(1).join('\n')), jwks: keys, json: true })).toMatchObject({
    code: 1,
    out: [expect.stringContaining('"code":"other_events"')],
    err: ['other_events: the statement counts 4 events, and there are 3 ids'],
  });
  await expect(run({ issuer: 'http://elsewhere.example' })).rejects.toThrow(/give --jwks FILE/);
});

testWith('python3')('is verified by Python, without the service', async () => {
  const { signature } = await read();
  const program = `
import json, sys
from transfer_service_statements import StatementError, verify_statement
given = json.load(sys.stdin)
print(verify_statement(given["signature"], given["jwks"], given["issuer"], given["ids"])["events"])
for wrong in ({"ids": given["ids"][1:]}, {"issuer": "x"}, {"jwks": {"keys": []}}, {"signature": given["signature"][:-9] + "AAAAAAAAA"}):
    try:
        verify_statement(**{**given, **wrong})
    except StatementError as error:
        print(error)
`;
  const input = JSON.stringify({ signature, jwks: await jwks(), issuer: auth.authUrl, ids });
  const { status, output } = runIn(join(clients, 'python'), 'python3', ['-B', '-c', program], input);
  const says = /^4\n.*4 other events.*\n.*not of x.*\n.*no key.*\n.*not that of this key.*\n$/;
  expect([status, output]).toEqual([0, expect.stringMatching(says)]);
});

it('rejects another value of `retired`', async () => {
  for (const query of ['?retired=false', '?retired=', '?retired=true&retired=true', '?retired=1']) {
    expect(await auth.api.call('GET', `/.well-known/jwks.json${query}`)).toMatchObject({
      status: 422,
      body: { code: 'invalid_request', errors: [{ parameter: 'retired' }] },
    });
  }
});

it('stays verifiable for 13 months after its key was retired, but not after the key was revoked', async () => {
  const { signature } = await read();
  const kidsOf = async (retired?: true) => (await auth.authority.jwks(retired)).keys.map(({ kid }) => kid);
  const [old] = await kidsOf();
  const { kid } = await rotateSigningKey(auth.database, OPERATOR, masterKeys);
  const retire = (age: string) =>
    auth.database.query(`update signing_keys set retired_at = now() - $1::interval where kid = $2`, [age, old]);
  await retire('12 months');
  await waitFor('the old key to verify no tokens', async () => !(await kidsOf()).includes(old));
  await waitFor('the keys to be read', async () => (await kidsOf(true)).includes(kid));
  expect(await kidsOf(true)).toEqual([kid, old]);
  expect(verifyStatement({ statement: signature, jwks: await jwks() }).events).toBe(4);
  await retire('14 months');
  await waitFor('the old key to be gone', async () => !(await kidsOf(true)).includes(old));
  await retire('1 month');
  await waitFor('the old key to be back', async () => (await kidsOf(true)).includes(old));
  await revokeSigningKey(auth.database, OPERATOR, masterKeys, `${old}`);
  await waitFor('the old key to be gone', async () => !(await kidsOf(true)).includes(old));
});
