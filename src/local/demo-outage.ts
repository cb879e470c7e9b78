import type { DemoApi } from './demo-api.js';
import type { DemoReceiver } from './demo-receiver.js';
import { chapter, green, red, say } from './demo-screen.js';
import { readUntil } from './demo-wait.js';

interface Statement {
  events: number;
  succeeded: number;
  pending: number;
  missing: number;
  complete: boolean;
}

/** How many events are made during the outage. */
const MISSED = 3;

/**
 * Shows an outage: the endpoint is disabled while events are made, so that they have no delivery for it. A recover makes
 * up for them, and the statements before and after prove it.
 * @param since the start of the statements' window
 */
export async function showOutage(
  api: DemoApi,
  webhookId: string,
  { url, received }: DemoReceiver,
  since: string,
): Promise<void> {
  chapter(`An outage: the endpoint is disabled, and ${MISSED} events are made meanwhile`);
  const endpoint = `/webhook-endpoints/${webhookId}`;
  const statement = () => api.get<Statement>(`${endpoint}/statement?since=${since}`);
  const enabled = (value: boolean) => api.put(endpoint, { url, description: 'demo', enabled: value });
  await enabled(false);
  for (let made = 0; made < MISSED; made++) {
    const { id } = await api.post<{ id: string }>('/transfers', {
      amount: { value: 100, currency: 'EUR' },
      destination: { name: 'Ada Lovelace', account: 'DE02120300000000202051' },
    });
    await api.post(`/sandbox/transfers/${id}/status`, { status: 'CANCELLED' });
  }
  await enabled(true);
  show('statement', await statement());

  chapter('The endpoint is enabled again, and a recover with include_missing delivers what it missed');
  const { count, missing } = await api.post<{ count: number; missing: number }>(`${endpoint}/recover`, {
    since,
    include_missing: true,
  });
  say('recover', `${missing} missing events get a delivery, ${count} ended deliveries start again`);
  for (let arrived = 0; arrived < MISSED; arrived++) {
    const { id, verified } = await received('CANCELLED');
    say(`event ${id.slice(-8)}`, verified ? green('signature verified') : red('BAD SIGNATURE'));
  }
  const complete = async () => {
    const now = await statement();
    return now.complete ? now : undefined;
  };
  show('statement', await readUntil('a complete statement', complete));
}

function show(label: string, { events, succeeded, pending, missing, complete }: Statement): void {
  const verdict = complete ? green('complete') : red('not complete');
  say(label, `${events} events: ${succeeded} succeeded, ${pending} pending, ${missing} missing: ${verdict}`);
}
