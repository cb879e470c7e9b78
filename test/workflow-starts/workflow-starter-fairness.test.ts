import type { Client } from '@temporalio/client';
import type { CommittedEvent } from '../../src/outbox/handover.js';
import { commitEvent } from '../support/committed-event.js';
import { makeClient } from '../support/factories.js';
import { waitFor } from '../support/wait-for.js';
import { attemptedEvent, useStarters } from '../support/workflow-starter.js';

const its = useStarters();

describe('the in-flight limit of the WorkflowStarter', () => {
  /** A starter whose client starts nothing, and whose attempts arrive at once until `stopArrivals`. */
  function withoutTemporal() {
    const started: string[] = [];
    const begin = async (_: string, options: { workflowId: string; args: { clientId: string }[] }) => {
      started.push(options.workflowId);
      if (arriving) opened.inFlight.arrived(options.args[0]!.clientId);
    };
    let arriving = true;
    const client = { workflow: { start: begin } } as unknown as Client;
    const opened = its.starters.open({ temporal: () => ({ client, eager: false }) });
    return { ...opened, started, stopArrivals: () => (arriving = false) };
  }

  async function floodAndQuiet() {
    const loud = await attemptedEvent(its.db, 'pending');
    const flood: CommittedEvent[] = [loud];
    for (let i = 0; i < 120; i++) flood.push(await attemptedEvent(its.db, 'pending', loud.clientId));
    return { flood, quiet: await attemptedEvent(its.db, 'pending') };
  }

  it('serves clients in turn, so that the backlog of one client does not delay another', async () => {
    const { flood, quiet } = await floodAndQuiet();
    const { starter, started } = withoutTemporal();
    starter.start();
    await Promise.all([...flood, quiet].map(its.starters.done));
    expect(started.indexOf(quiet.eventId)).toBeLessThan(50);
  });

  it('starts urgent events in turn across clients, so that a mass failure of one does not delay the retries of another', async () => {
    const { flood, quiet } = await floodAndQuiet();
    const all = [...flood, quiet];
    // The lane leases them to this process, so no read of the table finds them.
    const leaseUntil = new Date(Date.now() + 60_000);
    await its.db.prisma.event.updateMany({
      where: { id: { in: all.map(({ eventId }) => eventId) } },
      data: { leaseUntil },
    });
    const { starter, started } = withoutTemporal();
    for (const event of all) starter.due({ ...event, attempts: 1 }, true);
    starter.start();
    await Promise.all(all.map(its.starters.done));
    // It starts in the first batch, with 31 other events.
    expect(started.indexOf(quiet.eventId)).toBeLessThan(32);
  });

  it('counts no attempt in flight for a workflow that another worker has started', async () => {
    const clientId = await makeClient(its.db);
    const first = await attemptedEvent(its.db, 'pending');
    const elsewhere = [await commitEvent(its.db, { clientId })];
    for (let i = 1; i < 80; i++) elsewhere.push(await commitEvent(its.db, { clientId, endpoints: 0 }));
    await its.db.query(`update events set outbox = 'done' where client_id = $1::uuid`, [clientId]);
    const last = await attemptedEvent(its.db, 'pending', clientId);
    const { starter } = its.starters.open();
    for (const event of [...elsewhere, last]) starter.due({ ...event, attempts: 1 }, true);
    starter.start();
    await Promise.all([its.starters.done(first), its.starters.done(last)]);
  });

  it('counts no attempt in flight for a workflow that sleeps first, such as before a retry that is hours away', async () => {
    const clientId = await makeClient(its.db);
    // It makes the endpoint that all other events use.
    await commitEvent(its.db, { clientId });
    const events: CommittedEvent[] = [];
    for (let i = 0; i < 60; i++) events.push(await attemptedEvent(its.db, 'pending', clientId));
    await its.db.query(
      `update deliveries set next_attempt_at = now() + interval '6 hours' where client_id = $1::uuid`,
      [clientId],
    );
    const { starter } = its.starters.open();
    for (const event of events) starter.due({ ...event, attempts: 1 }, true);
    starter.start();
    await Promise.all(events.map(its.starters.done));
  });

  it('lets ten attempts of one client wait in Temporal, and starts one more for each attempt that arrives', async () => {
    const { flood, quiet } = await floodAndQuiet();
    const { starter, inFlight, started, stopArrivals } = withoutTemporal();
    stopArrivals();
    starter.start();
    await its.starters.done(quiet);
    await waitFor('ten starts of the flood', () => started.length === 11);
    const late = await attemptedEvent(its.db, 'pending');
    starter.nudge();
    await its.starters.done(late);
    expect(started).toHaveLength(12);
    const { clientId } = flood[0]!;
    for (let i = 0; i < 5; i++) inFlight.arrived(clientId);
    await waitFor('five more starts', () => started.length === 17);
  });
});
