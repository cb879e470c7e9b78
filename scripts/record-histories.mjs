// `npm run histories`: runs every path of the workflows on the real service, and stores the histories in
// test/histories/<version>/. The workflow code of each later version is replayed against them
// (docs/workflow-changes.md).
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { actor } from './histories/client.mjs';
import { beforeTheFirstTask, LADDER, paths } from './histories/paths.mjs';
import { scrub } from './histories/scrub.mjs';
import { openStage } from './histories/stage.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const folder = join(root, 'test/histories', version);
if (existsSync(folder)) {
  console.error(
    `${folder} exists, and the histories of a release are never changed. Raise the version in package.json, or`,
  );
  console.error('remove the folder if that version has not been released.');
  process.exit(1);
}

const recorded = new Map();
const stage = await openStage(LADDER);
try {
  const acts = actor(stage, (name, history) => recorded.set(name, JSON.parse(historyToJSON(history))));
  await beforeTheFirstTask(acts, stage.startWorker);
  for (const [path, play] of Object.entries(paths)) {
    console.error(path);
    await play(acts);
  }
} finally {
  await stage.close();
}

mkdirSync(folder, { recursive: true });
const hosts = [
  [`127.0.0.1:${stage.receiver.port}`, 'hooks.example.com'],
  [`localhost:${stage.receiver.port}`, 'other.example.com'],
];
for (const [name, history] of recorded) {
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(scrub(history, hosts), null, 1)}\n`);
}
console.error(`${recorded.size} histories in ${folder}`);
