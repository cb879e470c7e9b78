// The real service for the recorder: the embedded stack, an API, a worker, and a receiver whose responses a path
// controls.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Client, Connection } from '@temporalio/client';
import { caller, must } from '../../dist/test/support/caller.js';
import { commandsIn } from '../../dist/test/support/command.js';
import { makeLocalDir } from '../../dist/test/support/local-dir.js';
import { startRole } from '../../dist/test/support/role-process.js';
import { startStackProcess } from '../../dist/test/support/stack-process.js';

/** @param ladder DELIVERY_RETRY_DELAYS */
export async function openStage(ladder) {
  const folder = makeLocalDir();
  const stack = await startStackProcess(folder.path);
  const settings = { DELIVERY_RETRY_DELAYS: ladder, SANDBOX_STEP: '1s', RATE_LIMIT: '1000', LOG_LEVEL: 'error' };
  const env = { ...stack.env, ...settings };
  const { json } = commandsIn(env);
  await json('migrate');
  const credentials = await json('clients', 'create', '--name', 'Example');
  const stops = [];
  const start = async (role, differs = {}) => {
    const { ready, stop } = startRole(role, { ...env, ...differs });
    stops.push(stop);
    await ready;
    return stop;
  };
  await start('api');
  const receiver = await startReceiver();
  const connection = await Connection.connect({ address: env.TEMPORAL_ADDRESS });
  const call = await caller({ auth_url: env.AUTH_URL, base_url: env.BASE_URL }, credentials);
  return {
    call: (...request) => must(call(...request)),
    receiver,
    temporal: new Client({ connection, namespace: env.TEMPORAL_NAMESPACE }),
    /** @returns a function that ends the process */
    startWorker: (differs) => start('worker', differs),
    async close() {
      for (const stop of stops.reverse()) await stop();
      await connection.close();
      receiver.close();
      await stack.stop();
      await folder.remove();
    },
  };
}

/** Starts a receiver. Each of its URLs has its own function from the attempt's number to a status. */
async function startReceiver() {
  const answers = [];
  const server = createServer(async (request, response) => {
    request.resume();
    const place = answers[Number(request.url.slice(1))];
    response.writeHead(await place.answer(++place.seen)).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address();
  return {
    port,
    /** @param host `127.0.0.1` or `localhost`: two names distinguish two receivers */
    place(answer, host = '127.0.0.1') {
      answers.push({ answer, seen: 0 });
      return `http://${host}:${port}/${answers.length - 1}`;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
