import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { type AuthApi, type Credentials, startAuthApi } from '../support/auth-api.js';
import { type FetchedProgram, runFetched, testFetched } from '../support/fetched-program.js';

// OAuth libraries as their documentation shows them: none sends an audience. openid-client: routes/well-known.test.ts.

const PROGRAMS = join(import.meta.dirname, 'oauth-clients');
const fetchPython = `"$CACHE/oauth/bin/python" -c 'import authlib, requests_oauthlib' || {
  python3 -m venv "$CACHE/oauth" && "$CACHE/oauth/bin/pip" install -q authlib requests requests-oauthlib; }`;

/** For each library, its program and what it prints: the status of a call, then what became of the token. */
const LIBRARIES: Record<string, FetchedProgram & { prints: string }> = {
  'Authlib, which renews the token': {
    fetch: fetchPython,
    run: '"$CACHE/oauth/bin/python" "$PROGRAMS/renewal.py"',
    prints: '200 renewed',
  },
  'requests-oauthlib': {
    fetch: fetchPython,
    run: '"$CACHE/oauth/bin/python" "$PROGRAMS/requests-oauthlib.py"',
    prints: '200 invalid_client',
  },
  "Go's clientcredentials": {
    fetch: 'go version',
    run: `cp "$PROGRAMS/clientcredentials.go.txt" main.go && go mod init check &&
      go get golang.org/x/oauth2@v0.27.0 && go run .`,
    prints: '200 invalid_client',
  },
  'Spring Security, and Nimbus': {
    fetch: `java -version && { test -f "$CACHE/spring" || {
      cp "${PROGRAMS}/pom.xml" "$CACHE" && cd "$CACHE" && mvn -q -B dependency:build-classpath -Dmdep.outputFile=spring; }; }`,
    run: 'java -cp "$(cat "$CACHE/spring")" "$PROGRAMS/Spring.java"',
    prints: '200 invalid_client',
  },
};

const folder = mkdtempSync(join(tmpdir(), 'oauth-clients-'));
let api: AuthApi;
let client: Credentials;

beforeAll(async () => {
  api = await startAuthApi();
  client = await api.client();
});
afterAll(async () => {
  await api.close();
  rmSync(folder, { recursive: true });
});

for (const [i, [name, program]] of Object.entries(LIBRARIES).entries()) {
  testFetched(name, program)(
    `a token from ${name} opens the API`,
    async () => {
      const env = {
        ...{ PROGRAMS, BASE_URL: api.baseUrl, CLIENT_ID: client.client_id, CLIENT_SECRET: client.client_secret },
        // Plain HTTP on the same machine.
        ...{ OAUTHLIB_INSECURE_TRANSPORT: '1', AUTHLIB_INSECURE_TRANSPORT: '1', GOFLAGS: '-mod=mod' },
      };
      expect(await runFetched(program, join(folder, String(i)), env)).toBe(program.prints);
    },
    600_000,
  );
}
