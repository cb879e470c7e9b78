// `npm run histories`: runs every path of the workflows on the real service, and stores the histories in
// test/histories/<version>/. The workflow code of each later version is replayed against them
// (docs/workflow-changes.md). `npm run histories -- PATH…` adds the histories of new paths to the current version.
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
const added = process.argv.slice(2);
for (const path of added) if (!(path in paths)) throw new Error(`scripts/histories/paths.mjs has no path: ${path}`);
if (existsSync(folder) && added.length === 0) {
  console.error(
    `${folder} exists, and the histories of a release are never changed. Raise the version in package.json, or`,
  );
  console.error('name the new paths to add: npm run histories -- PATH…');
  process.exit(1);
}

const recorded = new Map();
const stage = await openStage(LADDER);
try {
  const acts = actor(stage, (name, history) => recorded.set(name, JSON.parse(historyToJSON(history))));
  if (added.length > 0) await stage.startWorker();
  else await beforeTheFirstTask(acts, stage.startWorker);
  for (const [path, play] of Object.entries(paths)) {
    if (added.length > 0 && !added.includes(path)) continue;
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
  // A recorded history is never overwritten.
  const flag = 'wx';
  writeFileSync(join(folder, `${name}.json`), linesOf(scrub(history, hosts)), { flag });
}
console.error(`${recorded.size} histories in ${folder}`);

/** JSON with one line for each event. */
function linesOf({ events, ...rest }) {
  const lines = events.map((event) => JSON.stringify(event)).join(',\n');
  return `{${Object.entries(rest)
    .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)},`)
    .join('')}"events":[\n${lines}\n]}\n`;
}
