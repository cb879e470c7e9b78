// The last part of `npm run screenshots`: starts the service on free ports, makes events with a receiver that accepts
// them and one that fails, and takes the picture of a workflow in the browser. The pictures of the console come from
// test/console/browser/plots. CHROMIUM names another browser than Debian's.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { startService } from '../dist/src/local/demo-service.js';

const image = (name) => fileURLToPath(new URL(`../docs/images/${name}.png`, import.meta.url));
const localDir = mkdtempSync(join(tmpdir(), 'screenshots-'));
Object.assign(process.env, {
  LOCAL_DIR: localDir,
  ...{ PORT: '0', POSTGRES_PORT: '0', TEMPORAL_PORT: '0', TEMPORAL_UI_PORT: '0', METRICS_PORT: '' },
});
// The service ends with this process.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
const stops = [];
try {
  const { sandbox, client } = await startService(stops);
  const event = await makeEvent(client);
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-dev-shm-usage'],
  });
  stops.push(() => browser.close());
  await pictureWorkflow(await browser.newPage({ viewport: { width: 1440, height: 840 } }), sandbox, event);
} finally {
  for (const stop of stops.reverse()) await stop();
  rmSync(localDir, { recursive: true });
}

/** @returns the event, which one endpoint accepted and the other rejected twice */
async function makeEvent(client) {
  const receiver = createServer((request, response) => {
    request.resume();
    response.writeHead(request.url === '/orders' ? 204 : 503).end();
  }).listen(0);
  stops.push(async () => receiver.close().closeAllConnections());
  await once(receiver, 'listening');
  for (const [name, host] of Object.entries({ Orders: '127.0.0.1', Ledger: 'localhost' })) {
    const url = `http://${host}:${receiver.address().port}/${name.toLowerCase()}`;
    await client.webhookEndpoints.register({ url, description: name, secret: 'a-secret-of-the-pictures' });
  }
  const simulated = ['COMPLETE', 'FAIL-ACCOUNT_CLOSED', 'COMPLETE', 'CANCEL', 'COMPLETE', 'RETURN-NAME_MISMATCH'];
  for (const [i, outcome] of simulated.entries()) {
    await client.transfers.create({
      amount: { value: 98_000 + 12_345 * i, currency: 'EUR' },
      destination: { name: 'Grace Hopper', account: `SANDBOX-${outcome}` },
      reference: `Payroll ${41 + i}`,
    });
  }
  const { id } = await client.transfers.create({
    amount: { value: 1250, currency: 'EUR' },
    destination: { name: 'Ada Lovelace', account: 'DE89370400440532013000' },
    reference: 'Invoice 2026-1042',
  });
  await client.sandbox.setTransferStatus(id, { status: 'PROCESSING' });
  const { data } = await client.events.list({ transfer_id: id }).page();
  const isDone = async () => {
    const transfers = (await client.transfers.list().page()).data;
    const deliveries = (await client.events.listDeliveries(data[0].id).page()).data;
    const attempts = deliveries.map(({ attempt_count }) => attempt_count).sort();
    return attempts.join() === '1,2' && transfers.every(({ status }) => !['CREATED', 'SENT'].includes(status));
  };
  while (!(await isDone())) await sleep(100);
  // Workers write their counts of attempts every 2 s.
  await sleep(5000);
  return data[0];
}

async function pictureWorkflow(page, { temporal_ui_url, temporal_namespace }, { id }) {
  // Its first page takes long on a busy machine.
  page.setDefaultTimeout(180_000);
  await page.goto(`${temporal_ui_url}/namespaces/${temporal_namespace}/workflows/${id}`);
  await page.getByText('User Metadata').click();
  await page.getByText('waits 5m').locator('visible=true').first().waitFor();
  // Without the navigation, which is not about the delivery.
  await page.screenshot({ path: image('sleeping-delivery'), clip: { x: 64, y: 104, width: 1376, height: 640 } });
}
