import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const VERSION = '1.32.1';

/**
 * The program of Temporal's time-skipping test server: from the cache, or the native program by the SDK's download, or
 * the Java program by Maven. Undefined if none is available; tests that need the server then fail with a message.
 */
export function findTimeSkippingServer(cacheDir, say) {
  const folder = join(cacheDir, `temporal-test-server-${VERSION}`);
  const program = join(folder, 'temporal-test-server');
  if (existsSync(program)) return program;
  const draft = `${folder}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  try {
    say('downloading the time-skipping test server, once');
    if (!download(draft) && !fetchJars(draft, program)) return undefined;
    rmSync(folder, { recursive: true, force: true });
    renameSync(draft, folder);
    return program;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function download(draft) {
  const testing = pathToFileURL(createRequire(import.meta.url).resolve('@temporalio/testing')).href;
  const script = `
    import testing from ${JSON.stringify(testing)};
    const executable = { type: 'cached-download', downloadDir: ${JSON.stringify(draft)} };
    await (await testing.TestWorkflowEnvironment.createTimeSkipping({ server: { executable } })).teardown();`;
  const { status } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], { timeout: 60_000 });
  const name = status === 0 && readdirSync(draft).find((file) => file.startsWith('temporal-test-server'));
  if (!name) return false;
  renameSync(join(draft, name), join(draft, 'temporal-test-server'));
  return true;
}

function fetchJars(draft, program) {
  const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId><artifactId>temporal-test-server</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>io.temporal</groupId><artifactId>temporal-test-server</artifactId><version>${VERSION}</version></dependency>
  </dependencies>
</project>
`;
  const jars = join(program, '../jars');
  const start = `exec java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp '${jars}/*' io.temporal.testserver.TestServer "$@"`;
  try {
    writeFileSync(join(draft, 'pom.xml'), pom);
    execFileSync('mvn', ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${join(draft, 'jars')}`], {
      cwd: draft,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    writeFileSync(join(draft, 'temporal-test-server'), `#!/bin/sh\n${start}\n`, { mode: 0o755 });
    return true;
  } catch {
    return false;
  }
}
