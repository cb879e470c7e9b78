import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { stopWithParent } from './demo-service.js';

/** A line of `listen --json`. */
export interface Received {
  received_at: string;
  id: string;
  type: string;
  /** Null if the body is no event, as in a check of the receiver. */
  data: { id: string; status: string } | null;
  verified: boolean;
  header: string;
  answered: number;
}

export interface DemoReceiver {
  url: string;
  secret: string;
  /** The next delivery of an event whose transfer has the status `status`. */
  received(status: string): Promise<Received>;
}

/** Starts a receiver in another process: `transfer-service listen`. */
export async function startDemoReceiver(
  options: { failFirst: number },
  stops: (() => Promise<void>)[],
): Promise<DemoReceiver> {
  const secret = randomBytes(24).toString('base64url');
  const folder = mkdtempSync(join(tmpdir(), 'demo-'));
  writeFileSync(join(folder, 'secret'), secret, { mode: 0o600 });
  const cli = fileURLToPath(new URL('../cli.js', import.meta.url));
  const receiver = spawn(
    process.execPath,
    [
      cli,
      'listen',
      '--port',
      '0',
      '--json',
      '--fail',
      String(options.failFirst),
      '--secret-file',
      join(folder, 'secret'),
    ],
    { detached: true, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  stops.push(stopWithParent(receiver));
  const lines = createInterface({ input: receiver.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => {
    const { value, done } = await lines.next();
    if (done) throw new Error('the receiver has ended');
    return JSON.parse(value);
  };
  const { listening } = (await next()) as { listening: string };
  rmSync(folder, { recursive: true });
  return {
    url: listening,
    secret,
    async received(status) {
      for (;;) {
        const delivery = (await next()) as Received;
        if (delivery.data?.status === status) return delivery;
      }
    },
  };
}
