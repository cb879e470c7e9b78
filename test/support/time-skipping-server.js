import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const VERSION = '1.32.1';

/**
 * The program of Temporal's time-skipping test server: from the cache, or the native program by the SDK's download, or
 * the Java program by Maven. Undefined if none is available; tests that need the server then fail with a message.
 */
export async function findTimeSkippingServer(cacheDir, say) {
  const folder = join(cacheDir, `temporal-test-server-${VERSION}`);
  const program = join(folder, 'temporal-test-server');
  if (!existsSync(program)) makeProgram(folder, say);
  if (!existsSync(program)) return undefined;
  if (existsSync(jarsOf(program))) await prepareJava(program);
  return program;
}

const jarsOf = (program) => join(dirname(program), 'jars');

function makeProgram(folder, say) {
  const draft = `${folder}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  try {
    say('downloading the time-skipping test server, once');
    if (!download(draft) && !fetchJars(draft)) return;
    rmSync(folder, { recursive: true, force: true });
    renameSync(draft, folder);
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

function fetchJars(draft) {
  const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId><artifactId>temporal-test-server</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>io.temporal</groupId><artifactId>temporal-test-server</artifactId><version>${VERSION}</version></dependency>
  </dependencies>
</project>
`;
  try {
    writeFileSync(join(draft, 'pom.xml'), pom);
    execFileSync('mvn', ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${join(draft, 'jars')}`], {
      cwd: draft,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    writeFileSync(join(draft, 'temporal-test-server'), '', { mode: 0o755 });
    return true;
  } catch {
    return false;
  }
}

/**
 * Writes the program that starts Java, and once an archive of the classes that it loads: a start then costs 0.5 s of CPU
 * instead of 1.3, and the SDK waits only 5 s for it. Java ignores an archive of another release.
 */
async function prepareJava(program) {
  const archive = join(dirname(program), 'classes.jsa');
  const java = (option) =>
    `#!/bin/sh\nexec java ${option} -Xshare:auto -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp '${jarsOf(program)}/*' io.temporal.testserver.TestServer "$@"\n`;
  const write = (file, option) => {
    writeFileSync(`${file}.${process.pid}`, java(option), { mode: 0o755 });
    renameSync(`${file}.${process.pid}`, file);
  };
  write(program, `-XX:SharedArchiveFile='${archive}'`);
  if (existsSync(archive)) return;
  const draft = `${archive}.${process.pid}`;
  const recorder = `${program}.record`;
  write(recorder, `-XX:ArchiveClassesAtExit='${draft}'`);
  await runOnce(recorder);
  rmSync(recorder);
  if (existsSync(draft)) renameSync(draft, archive);
}

/** Starts the server, waits until it accepts connections, and ends it. */
async function runOnce(program) {
  const { freePort } = await import('../../dist/src/platform/free-port.js');
  const port = await freePort();
  const child = spawn(program, [String(port)], { stdio: 'ignore' });
  const ended = once(child, 'exit').catch(() => undefined);
  const listens = async () => {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return true;
    } catch {
      return false;
    } finally {
      socket.destroy();
    }
  };
  while (child.exitCode === null && child.pid && !(await listens())) await sleep(100);
  child.kill('SIGTERM');
  await ended;
}
