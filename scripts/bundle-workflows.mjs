// Bundles the workflows at build time, so that a worker starts without webpack. Skipped if nothing has changed.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = fileURLToPath(new URL('../dist/', import.meta.url));
const entry = join(dist, 'workflows/index.js');
const bundle = join(dist, 'workflow-bundle.js');
const stamp = join(dist, 'workflow-bundle.inputs');

/** The inputs of the bundle: every built file except declarations and maps, the SDK's version, and this script. */
const inputs = createHash('sha256')
  .update(readFileSync(join(dist, '../node_modules/@temporalio/workflow/package.json')))
  .update(readFileSync(import.meta.filename));
for (const folder of ['workflows', 'src/platform']) {
  for (const name of readdirSync(join(dist, folder)).sort()) {
    if (name.endsWith('.js')) inputs.update(name).update(readFileSync(join(dist, folder, name)));
  }
}
const digest = inputs.digest('hex');

if (!(existsSync(bundle) && existsSync(stamp) && readFileSync(stamp, 'utf8') === digest)) {
  const { bundleWorkflowCode, DefaultLogger } = await import('@temporalio/worker');
  const { code } = await bundleWorkflowCode({ workflowsPath: entry, logger: new DefaultLogger('WARN') });
  writeFileSync(`${bundle}.${process.pid}`, withoutSources(code));
  renameSync(`${bundle}.${process.pid}`, bundle);
  writeFileSync(stamp, digest);
}

/**
 * The bundle's code with a source map that names lines and files, as stack traces need, and does not repeat the sources.
 * A worker holds the map several times as text: with the sources it is twice as long as the code.
 */
function withoutSources(code) {
  const [, before, map] = /^(.*\/\/# sourceMappingURL=data:[^,]*;base64,)(\S+)\s*$/s.exec(code) ?? [];
  if (map === undefined) throw new Error('the bundle of the workflows has no source map');
  const { sourcesContent: _, ...rest } = JSON.parse(Buffer.from(map, 'base64').toString());
  return `${before}${Buffer.from(JSON.stringify(rest)).toString('base64')}\n`;
}
