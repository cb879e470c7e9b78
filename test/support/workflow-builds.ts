import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type ReplayResult, Worker } from '@temporalio/worker';

/** The workflows as this build has them. */
export const thisBuild = readFileSync(fileURLToPath(new URL('../../dist/workflow-bundle.js', import.meta.url)), 'utf8');

/** The place in it where `deliverEvent` asks for an attempt. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
export const ATTEMPT = 'const outcome = await deliver.executeWithOptions({ summary: `attempt ${number} to';

/** Another version of the workflows: this build with one place in it changed. */
export function otherBuild(place: string, becomes: string): string {
  const parts = thisBuild.split(place);
  const [before, after] = parts;
  if (parts.length !== 2 || before === undefined || after === undefined) {
    throw new Error(`the workflow bundle has ${parts.length - 1} places with: ${place}`);
  }
  // The names that webpack gave the SDK in the module of that place.
  const sdk = /\(0,(_temporalio_workflow__WEBPACK_IMPORTED_MODULE_\d+__)\.setHandler\)/.exec(thisBuild)?.[1] ?? '';
  return before + becomes.replaceAll('$sdk', sdk) + after;
}

/** Replays histories on a build. @returns those that it does not agree with, each by its name with what differs */
export async function replay(code: string, histories: readonly { name: string; json: unknown }[]): Promise<string[]> {
  const found: string[] = [];
  const replayed = histories.map(({ name, json }) => ({ workflowId: name, history: json as never }));
  const results: AsyncIterable<ReplayResult> = Worker.runReplayHistories({ workflowBundle: { code } }, replayed);
  for await (const { workflowId, error } of results) if (error) found.push(`${workflowId}: ${error.message}`);
  return found;
}
