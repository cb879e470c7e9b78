import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, expect } from '@jest/globals';
import { Secret } from '../../src/platform/secret.js';
import { splitRequest } from '../support/delivered.js';
import { type FetchedProgram, runFetched, testFetched } from '../support/fetched-program.js';
import { openFolder } from '../support/folder.js';
import { closeAll, OK, outgoing, receiver, sender } from '../support/sender.js';

// The official libraries of Standard Webhooks. That of npm is in test/system/delivery.test.ts.

const PROGRAMS = join(import.meta.dirname, 'standard-webhooks');
const ID = '019aa5b0-5c00-7000-8000-000000000001';

/** For each library, its program and what it prints: of a delivery, and of the same with a blank after its body. */
const LIBRARIES: Record<string, FetchedProgram & { prints: string }> = {
  Python: {
    fetch: `"$CACHE/webhooks/bin/python" -c 'import standardwebhooks' || {
      python3 -m venv "$CACHE/webhooks" && "$CACHE/webhooks/bin/pip" install -q standardwebhooks==1.1.0; }`,
    run: '"$CACHE/webhooks/bin/python" "$PROGRAMS/verify.py"',
    prints: `${ID} WebhookVerificationError`,
  },
  Go: {
    fetch: 'go version',
    run: `cp "$PROGRAMS/verify.go.txt" main.go && go mod init check &&
      go get github.com/standard-webhooks/standard-webhooks/libraries@v0.0.1 && go run .`,
    prints: '<nil> unable to verify payload, err: no matching signature found',
  },
  Java: {
    fetch: `java -version && { test -f "$CACHE/standard-webhooks" || {
      mkdir -p "$CACHE/webhooks-java" && cp "${PROGRAMS}/pom.xml" "$CACHE/webhooks-java" && cd "$CACHE/webhooks-java" &&
      mvn -q -B dependency:build-classpath -Dmdep.outputFile="$CACHE/standard-webhooks"; }; }`,
    run: 'java -cp "$(cat "$CACHE/standard-webhooks")" "$PROGRAMS/Verify.java"',
    prints: 'verified, then No matching signature found',
  },
  Rust: {
    fetch: 'cargo --version',
    run: `mkdir src && cp "$PROGRAMS/verify.rs.txt" src/main.rs && cargo init -q --name check 2> /dev/null
      cargo add -q standardwebhooks@=1.0.1 http@1 && CARGO_TARGET_DIR="$CACHE/webhooks-rust" cargo run -q`,
    prints: 'Ok(()) true',
  },
};

const folder = openFolder();
afterAll(async () => {
  await closeAll();
});

for (const [language, program] of Object.entries(LIBRARIES)) {
  testFetched(`the library for ${language}`, program)(
    `the library for ${language} accepts a delivery, and not another body`,
    async () => {
      const { url, requests } = await receiver(OK);
      const SECRET = `whsec_${randomBytes(32).toString('base64')}`;
      await sender().send({
        ...outgoing(url),
        body: JSON.stringify({ id: ID }),
        secret: new Secret(SECRET),
        standardId: ID,
      });
      const { head, body: BODY } = splitRequest(requests[0] ?? '');
      const [TIMESTAMP = '', SIGNATURE = ''] = ['timestamp', 'signature'].map(
        (name) => new RegExp(`\r\nwebhook-${name}: (.*)`).exec(head)?.[1] ?? '',
      );
      const env = { ...{ ID, TIMESTAMP, SIGNATURE, BODY, SECRET }, PROGRAMS, GOFLAGS: '-mod=mod' };
      expect(await runFetched(program, join(folder, language), env)).toBe(program.prints);
    },
    600_000,
  );
}
