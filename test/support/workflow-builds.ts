import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type ReplayResult, Worker } from '@temporalio/worker';

/** The workflow bundle of this build. */
export const thisBuild = readFileSync(fileURLToPath(new URL('../../dist/workflow-bundle.js', import.meta.url)), 'utf8');

/** The code in the bundle with which `deliverEvent` asks for an attempt. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
export const ATTEMPT = 'const summary = `attempt ${delivery.attemptCount + 1} to';

/** The code in the bundle with which `deliverEvent` waits for the next attempt. */
export const WAIT = 'if (wait > 0) {\n                const hasChanged';

/** Another version of the workflows: this build with the code `original` replaced. */
export function otherBuild(original: string, becomes: string): string {
  const parts = thisBuild.split(original);
  const [before, after] = parts;
  if (parts.length !== 2 || before === undefined || after === undefined) {
    throw new Error(`the workflow bundle has ${parts.length - 1} occurrences of: ${original}`);
  }
  // The name that webpack gives the SDK in the module of the replaced code.
  const sdk = /\(0,(_temporalio_workflow__WEBPACK_IMPORTED_MODULE_\d+__)\.setHandler\)/.exec(thisBuild)?.[1] ?? '';
  return before + becomes.replaceAll('$sdk', sdk) + after;
}

/** Replays histories on a build. @returns a line for each history that fails, with its name and the difference */
export async function replay(code: string, histories: readonly { name: string; json: unknown }[]): Promise<string[]> {
  const found: string[] = [];
  const replayed = histories.map(({ name, json }) => ({ workflowId: name, history: json as never }));
  const results: AsyncIterable<ReplayResult> = Worker.runReplayHistories({ workflowBundle: { code } }, replayed);
  for await (const { workflowId, error } of results) if (error) found.push(`${workflowId}: ${error.message}`);
  return found;
}
