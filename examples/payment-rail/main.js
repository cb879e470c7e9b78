import { setTimeout as sleep } from 'node:timers/promises';
import { TransferServiceClient } from 'transfer-service-client';
import { openBank } from './bank.js';
import { createRail } from './rail.js';

// A client with the scope `operator:transfers`. If a call fails for longer than its tries, the process ends: restart it.
const { BASE_URL: baseUrl = 'http://localhost:3000', CLIENT_ID: clientId, CLIENT_SECRET: clientSecret } = process.env;
const { BANK = 'bank' } = process.env;

/** Says at once that the service cannot be reached; the client tries again. */
async function tellingFetch(url, init) {
  try {
    return await fetch(url, init);
  } catch (error) {
    console.error(`${baseUrl} cannot be reached: ${error.cause?.code ?? error.message}`);
    throw error;
  }
}

try {
  if (!clientId || !clientSecret) throw new Error('set CLIENT_ID and CLIENT_SECRET: a client with operator:transfers');
  const { operator } = new TransferServiceClient({ baseUrl, clientId, clientSecret, fetch: tellingFetch });
  const rail = createRail(operator, openBank(BANK));
  await rail.resume();
  console.log(`paying the transfers of ${baseUrl}`);
  for (;;) if ((await rail.round()) === 0) await sleep(1_000);
} catch (error) {
  console.error(`the rail has ended: ${error.message}`);
  process.exitCode = 1;
}
