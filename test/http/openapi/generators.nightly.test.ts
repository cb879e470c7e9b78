import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { type AuthApi, type Credentials, startAuthApi } from '../../support/auth-api.js';
import { caller, must } from '../../support/caller.js';
import { type FetchedProgram, runFetched, testFetched } from '../../support/fetched-program.js';
import { toolPath } from '../../support/tooling.js';
import { transferRequest } from '../../support/transfers.js';

// Generates a client from the served document with each tool, compiles it and calls the service with it: a token, an
// endpoint, a transfer, a page of events, and an error by its type. Linters find nothing of what fails here.

const VERSION = '7.20.0';
const openapiGenerator = `java -jar "$CACHE/openapi-generator-cli-${VERSION}.jar" generate -i "$DOCUMENT" -o client \
  --global-property apiTests=false,modelTests=false,apiDocs=false,modelDocs=false`;
const fetchOpenapiGenerator = `java -version && { test -f "$CACHE/openapi-generator-cli-${VERSION}.jar" || mvn -q -B dependency:copy \
  -Dartifact=org.openapitools:openapi-generator-cli:${VERSION} -DoutputDirectory="$CACHE"; }`;

const GENERATORS: Record<string, FetchedProgram> = {
  'openapi-generator for Python': {
    fetch: `${fetchOpenapiGenerator} && { "$CACHE/python/bin/python" -c 'import dateutil, pydantic, urllib3' || {
      python3 -m venv "$CACHE/python" && "$CACHE/python/bin/pip" install -q urllib3 python-dateutil pydantic; }; }`,
    run: `${openapiGenerator} -g python && PYTHONPATH=client "$CACHE/python/bin/python" "$PROGRAMS/check.py"`,
  },
  'openapi-generator for Java': {
    fetch: fetchOpenapiGenerator,
    run: `${openapiGenerator} -g java && cd client && rm -rf src/test &&
      mvn -q -B compile dependency:build-classpath -Dmdep.outputFile=classpath >&2 &&
      java -cp "target/classes:$(cat classpath)" "$PROGRAMS/Check.java"`,
  },
  'openapi-generator for Go': {
    fetch: `go version && ${fetchOpenapiGenerator}`,
    run: `${openapiGenerator} -g go && cd client && rm -rf test && mkdir check &&
      cp "$PROGRAMS/openapi-generator.go.txt" check/main.go && GOFLAGS=-mod=mod go run ./check`,
  },
  'oapi-codegen': {
    fetch: `test -x "$CACHE/oapi-codegen" ||
      GOBIN="$CACHE" go install github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2`,
    run: `mkdir api && "$CACHE/oapi-codegen" -generate types,client -package api -o api/api.go "$DOCUMENT" &&
      cp "$PROGRAMS/oapi-codegen.go.txt" main.go && go mod init check && GOFLAGS=-mod=mod go run .`,
  },
  'openapi-typescript': {
    fetch:
      'test -d "$CACHE/typescript/node_modules/openapi-fetch" || npm install --silent --prefix "$CACHE/typescript" openapi-fetch@0.17.0',
    run: `ln -s "$CACHE/typescript/node_modules" && cp "$PROGRAMS/check.ts.txt" check.ts && echo '{"type":"module"}' >package.json &&
      "$NODE" "$OPENAPI_TYPESCRIPT" "$DOCUMENT" -o types.ts >&2 &&
      "$NODE" "$TYPESCRIPT" --noEmit --strict --module nodenext --target es2023 --allowImportingTsExtensions \
        --typeRoots "$TYPE_ROOTS" --types node check.ts && "$NODE" check.ts`,
  },
  'datamodel-code-generator for msgspec': {
    fetch: `"$CACHE/msgspec/bin/python" -c 'import msgspec, datamodel_code_generator' || {
      python3 -m venv "$CACHE/msgspec" && "$CACHE/msgspec/bin/pip" install -q msgspec==0.22.0 datamodel-code-generator==0.89.0; }`,
    run: `"$CACHE/msgspec/bin/datamodel-codegen" --input "$DOCUMENT" --input-file-type openapi --output models.py \
        --output-model-type msgspec.Struct --formatters builtin && PYTHONPATH=. "$CACHE/msgspec/bin/python" "$PROGRAMS/check-msgspec.py"`,
  },
  'openapi-zod-client': {
    fetch: `test -d "$CACHE/zod/node_modules/openapi-zod-client" || npm install --silent --prefix "$CACHE/zod" \
      openapi-zod-client@1.18.3 @zodios/core@10.9.6 axios@1.21.1 zod@3.25.76`,
    run: `ln -s "$CACHE/zod/node_modules" && cp "$PROGRAMS/check-zod.ts.txt" check.ts && echo '{"type":"module"}' >package.json &&
      "$NODE" node_modules/openapi-zod-client/bin.js "$DOCUMENT" -o client.ts >&2 &&
      "$NODE" "$TYPESCRIPT" --noEmit --strict --skipLibCheck --module nodenext --target es2023 --allowImportingTsExtensions \
        --typeRoots "$TYPE_ROOTS" --types node check.ts && "$NODE" check.ts`,
  },
  'Postman, by newman': {
    fetch:
      'test -d "$CACHE/postman/node_modules/newman" || npm install --silent --prefix "$CACHE/postman" openapi-to-postmanv2@6.3.3 newman@6.2.2',
    run: 'ln -s "$CACHE/postman/node_modules" && cp "$PROGRAMS/postman.cjs.txt" check.cjs && "$NODE" check.cjs',
  },
};

const folder = mkdtempSync(join(tmpdir(), 'generators-'));
const DOCUMENT = join(folder, 'openapi.json');
const env = {
  ...{ DOCUMENT, PROGRAMS: join(import.meta.dirname, 'generators'), NODE: process.execPath },
  TYPESCRIPT: toolPath('typescript/bin/tsc'),
  TYPE_ROOTS: join(import.meta.dirname, '../../../node_modules/@types'),
  OPENAPI_TYPESCRIPT: toolPath('openapi-typescript/bin/cli.js'),
};
let api: AuthApi;
let client: Credentials;

beforeAll(async () => {
  api = await startAuthApi();
  client = await api.client();
  writeFileSync(DOCUMENT, (await api.api.call('GET', '/openapi.json')).text);
  const call = await caller({ base_url: api.baseUrl, auth_url: api.authUrl }, client);
  const { id } = await must(call('POST', '/transfers', transferRequest()));
  await must(call('POST', `/sandbox/transfers/${id}/status`, { status: 'CANCELLED' }));
});
afterAll(async () => {
  await api.close();
  rmSync(folder, { recursive: true });
});

for (const [name, program] of Object.entries(GENERATORS)) {
  testFetched(name, program)(
    `a client from ${name} compiles and works`,
    async () => {
      const { client_id: CLIENT_ID, client_secret: CLIENT_SECRET } = client;
      const cwd = join(folder, name.replaceAll(/\W+/g, '-'));
      const said = await runFetched(program, cwd, { ...env, BASE_URL: api.baseUrl, CLIENT_ID, CLIENT_SECRET });
      // The endpoint is enabled, the transfer's status and amount, the status in the event, the code of the error.
      expect(said.split('\n').at(-1)).toMatch(/^true CREATED 9007199254740991 CANCELLED not_found$/i);
    },
    600_000,
  );
}
