import type { DemoApi } from './demo-api.js';
import { chapter, green, red, say } from './demo-screen.js';
import { readUntil } from './demo-wait.js';

interface Check {
  status: 'running' | 'passed' | 'failed';
  cases: { name: string; expected: string; response_status: number | null; passed: boolean; hint: string | null }[];
}

/** Checks the receiver as an integrator does before going live, and shows the report. */
export async function showCheck(api: DemoApi, webhookId: string): Promise<void> {
  chapter('Before going live: the sandbox checks the receiver with nine requests, genuine and forged');
  const checks = `/webhook-endpoints/${webhookId}/checks`;
  const { id } = await api.post<{ id: string }>(checks, undefined);
  const { status, cases } = await readUntil('the end of the check', async () => {
    const check = await api.get<Check>(`${checks}/${id}`);
    return check.status === 'running' ? undefined : check;
  });
  for (const { name, expected, response_status, passed, hint } of cases) {
    const verdict = passed ? green('right') : red(`WRONG: ${hint}`);
    say('', `${name.padEnd(18)} ${String(response_status).padEnd(4)} expected ${expected.padEnd(7)} ${verdict}`);
  }
  say('the check', status === 'passed' ? green('passed') : red(status));
}
