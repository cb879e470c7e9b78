import { setTimeout as sleep } from 'node:timers/promises';
import { TransferServiceClient } from 'transfer-service-client';
import { openBank } from './bank.js';
import { createRail } from './rail.js';

// A client with the scope `operator:transfers`. If a call fails for longer than its tries, the process ends: restart it.
const { BASE_URL: baseUrl, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret, BANK = 'bank' } = process.env;
const { operator } = new TransferServiceClient({ baseUrl, clientId, clientSecret });
const rail = createRail(operator, openBank(BANK));

await rail.resume();
for (;;) if ((await rail.round()) === 0) await sleep(1_000);
