import type { CommittedEvent } from '../../src/outbox/handover.js';
import { ANYTHING, type Notice } from '../../src/outbox/notice.js';
import { listenForEvents, notifyHandover } from '../../src/outbox/notify.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { silentLog } from '../support/silent-log.js';
import { waitFor } from '../support/wait-for.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const event = { deliveries: [{}] } as unknown as CommittedEvent;
const withoutEndpoint = { deliveries: [] as unknown } as CommittedEvent;

describe('notifying workers of events', () => {
  it('reaches a worker that listens, once for many events at the same moment', async () => {
    let notified = 0;
    const listener = listenForEvents(db.url, () => void notified++, silentLog);
    try {
      await waitFor('the listener to be connected', () => notified === 1);
      const handover = notifyHandover(db, [], silentLog);
      for (let i = 0; i < 100; i++) handover.committed(event);
      await waitFor('the notification', () => notified > 1);
      await handover.flush();
      await db.query('select 1', []);
      expect(notified).toBe(2);
    } finally {
      await listener.stop();
    }
  });

  it('says whether first attempts or workflow starts are due, and whose turn it is', async () => {
    const notices: Notice[] = [];
    const listener = listenForEvents(db.url, (notice) => void notices.push(notice), silentLog);
    try {
      await waitFor('the listener to be connected', () => notices.length === 1);
      expect(notices[0]).toEqual(ANYTHING);
      const handover = notifyHandover(db, [], silentLog);
      handover.committed(event);
      await waitFor('the first notice', () => notices.length === 2);
      handover.committed(withoutEndpoint);
      await waitFor('the second notice', () => notices.length === 3);
      handover.committed(withoutEndpoint);
      handover.committed(event);
      await waitFor('the third notice', () => notices.length === 4);
      const turn = expect.any(Number);
      expect(notices.slice(1)).toEqual([
        { attempt: true, start: false, turn },
        { attempt: false, start: true, turn },
        { attempt: true, start: true, turn },
      ]);
    } finally {
      await listener.stop();
    }
  });

  it('connects again when the connection is lost, and reports a notification that it may have missed', async () => {
    let notified = 0;
    const listener = listenForEvents(db.url, () => void notified++, silentLog);
    try {
      await waitFor('the listener to be connected', () => notified === 1);
      await db.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like 'listen%'`,
        [],
      );
      await waitFor('the listener to be back', () => notified === 2);
    } finally {
      await listener.stop();
    }
  });
});
