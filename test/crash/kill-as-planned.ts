import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../support/wait-for.js';
import { FAILPOINTS, type Failpoint } from './failpoints.js';
import { partsOf, type SupervisedRole } from './parts.js';
import type { Progress } from './progress.js';
import { type ActionEndpoint, recover, setEnabled } from './random-actions.js';
import { withDatabase } from './record.js';
import type { FailpointKill, Kill } from './schedule.js';
import type { Service } from './service.js';

/**
 * @param since when the load began
 * @returns how often each kind of kill was made, and how often a process died at each failpoint of the plan
 */
export async function killAsPlanned(
  service: Service,
  plan: readonly (Kill | FailpointKill)[],
  since: string,
  progress: Progress,
) {
  const kills: Record<string, number> = {};
  const failpoints: Record<string, number> = {};
  let began = Date.now();
  for (const kill of plan) {
    await sleep(Math.max(0, began + kill.at - Date.now()));
    // After a slow kill the rest of the schedule is later, so that the load makes progress between kills.
    began = Date.now() - kill.at;
    if ('failpoint' in kill) {
      const { failpoint, pause } = kill;
      const died = await killAtFailpoint(service, failpoint, pause, since);
      failpoints[failpoint] = (failpoints[failpoint] ?? 0) + (died ? 1 : 0);
      progress.say(`failpoint ${failpoint}: ${died ?? 'no process has passed it'}`);
      continue;
    }
    const hit = partsOf(service.parts, kill);
    const pids = await Promise.all(hit.map(async (part) => `${part.name} (${await part.kill(kill.how, kill.pause)})`));
    const what = `${kill.how} of ${kill.target}`;
    kills[what] = (kills[what] ?? 0) + 1;
    progress.say(`${kill.how}: ${pids.join(', ')}`);
  }
  return { kills, failpoints };
}

/** ms in which a process must pass a failpoint */
const PATIENCE = 20_000;

/** Makes a worker pass what the load makes it pass too rarely. Requests fail meanwhile, as those of the load do. */
const CAUSES: { [F in Failpoint]?: (service: Service, endpoint: ActionEndpoint, since: string) => Promise<unknown> } = {
  'after-workflow-start': (service, endpoint, since) => recoverAgain(service, endpoint, since),
  'after-requeued': (service, endpoint, since) => recoverAgain(service, endpoint, since),
  'after-missing-made': (service, endpoint, since) => recoverAgain(service, endpoint, since),
  'before-disable': (service, endpoint) => makeGone(service, endpoint),
  'after-notification-sent': (service, endpoint) => makeGone(service, endpoint),
  // A disabling leaves more than 1,000 deliveries to the workers. This one leaves what it has not cancelled: nothing.
  'after-cancelled': async ({ databaseUrl }, endpoint) => {
    await setEnabled(endpoint, false);
    await withDatabase(databaseUrl, (database) =>
      database.query(
        `update webhook_endpoints set cancelling_after = '00000000-0000-0000-0000-000000000000'
          where id = $1 and not enabled`,
        [endpoint.webhookId],
      ),
    );
  },
};

/** The service disables the endpoint and tells the operator. */
async function makeGone(service: Service, endpoint: ActionEndpoint): Promise<void> {
  await setEnabled(endpoint, true);
  await service.gone();
}

async function recoverAgain({ databaseUrl }: Service, endpoint: ActionEndpoint, since: string): Promise<void> {
  await withDatabase(databaseUrl, (database) => database.query(`delete from limit_uses where name = 'recoveries'`));
  await setEnabled(endpoint, true);
  await recover(endpoint, since, true);
}

/**
 * Kills the process of the failpoint's role that passes it first.
 * @param pause ms until it is started again
 * @returns what died; undefined: none has passed the failpoint in time
 */
async function killAtFailpoint(
  service: Service,
  failpoint: Failpoint,
  pause: number,
  since: string,
): Promise<string | undefined> {
  const { apis, workers } = service.parts;
  const roles: readonly SupervisedRole[] = FAILPOINTS[failpoint] === 'api' ? apis : workers;
  const armed = await Promise.all(roles.map((role) => role.arm(failpoint, pause)));
  const toggled = service.endpoints.find((endpoint) => endpoint.toggled);
  const until = Date.now() + PATIENCE;
  const dead = () => armed.find(({ said }) => said.includes(`died at failpoint ${failpoint}`));
  while (!dead() && Date.now() < until) {
    if (toggled) await CAUSES[failpoint]?.(service, toggled, since).catch(() => undefined);
    await waitFor('a process to pass the failpoint', dead, 1_000).catch(() => undefined);
  }
  await Promise.all(roles.map((role) => role.disarm()));
  const died = dead();
  return died && `${roles[armed.indexOf(died)]?.name} (${died.process.pid})`;
}
