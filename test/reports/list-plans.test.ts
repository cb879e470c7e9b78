import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { type Filled, fill, readFilled } from '../../bench/lists/fill.js';
import { type ExplainedDatabase, nodesOf, openExplained, type PlanNode, rowsOf } from '../../bench/lists/plans.js';
import { listQueries } from '../../bench/lists/queries.js';
import { LOOKED_AT } from '../../src/endpoints/window.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { rowsOfPlans } from '../support/filled-database.js';

// Checks the plans that Postgres runs on a table big enough for its indexes.

const ROWS = rowsOfPlans(20_000);
const BIG = ['events', 'transfers', 'deliveries', 'attempts', 'endpoint_hours'];
/** Rows that a list may read at most: fifty of each of fifty endpoints, for the operator's fifty newest. */
const MOST = 2_500;
/** Queries that count or check. They read as many rows as they count, but by an index. */
const COUNTS = /^recover: count|^is failing|^statement|^missing events/;

let db: TestDatabase;
let explained: ExplainedDatabase;
let filled: Filled;

beforeAll(async () => {
  db = await createTestDatabase();
  const client = new pg.Client({ connectionString: db.url.reveal() });
  await client.connect();
  await fill(client, ROWS, 50);
  filled = await readFilled(client);
  await client.end();
  explained = openExplained(db.url.reveal());
});
afterAll(async () => {
  await explained?.close();
  await db?.drop();
});

const scansBigTable = (node: PlanNode) =>
  BIG.includes(node['Relation Name'] ?? '') && node['Node Type'].endsWith('Seq Scan');

describe('lists', () => {
  test('no list scans a big table, sorts many rows, or skips many rows of others', async () => {
    const bad: string[] = [];
    let queries = 0;
    for (const [name, run] of await listQueries(explained, filled)) {
      explained.plans();
      await run(explained);
      const nodes = explained.plans().flatMap(({ Plan }) => nodesOf(Plan));
      if (nodes.length > 0) queries++;
      for (const node of nodes) {
        const what = `${name}: ${node['Node Type']} ${node['Index Name'] ?? node['Relation Name'] ?? ''} ${rowsOf(node)}`;
        if (scansBigTable(node) || (rowsOf(node) > MOST && !COUNTS.test(name))) bad.push(what);
      }
    }
    expect(bad).toEqual([]);
    expect(queries).toBeGreaterThan(60);
  });

  test('the overview counts pending deliveries from the index alone, and reads a bounded number of rows', async () => {
    const [overview] = (await listQueries(explained, filled)).filter(([name]) =>
      name.startsWith('overview: health of 20'),
    );
    explained.plans();
    await overview?.[1](explained);
    const nodes = explained.plans().flatMap(({ Plan }) => nodesOf(Plan));
    const ofDeliveries = nodes.filter((node) => node['Relation Name'] === 'deliveries');
    const [counting, ...others] = ofDeliveries.sort((a, b) => rowsOf(b) - rowsOf(a));
    expect(counting?.['Node Type']).toBe('Index Only Scan');
    // The latest success, the next attempt, the oldest pending one, and what failed or was cancelled since.
    expect(others).toHaveLength(5);
    for (const node of others) expect(rowsOf(node)).toBeLessThanOrEqual(20 * 100);
    const hours = nodes.filter((node) => node['Relation Name'] === 'endpoint_hours');
    // The hours of two days, once for each of four numbers.
    expect(hours.length).toBeLessThanOrEqual(4);
    for (const node of hours) expect(rowsOf(node)).toBeLessThanOrEqual(20 * 48);
  });

  test('a statement reads indexes alone', async () => {
    const statements = (await listQueries(explained, filled)).filter(([name]) => name.startsWith('statement'));
    expect(statements).toHaveLength(3);
    for (const [, run] of statements) {
      explained.plans();
      await run(explained);
      const nodes = explained.plans().flatMap(({ Plan }) => nodesOf(Plan));
      const big = nodes.filter((node) => BIG.includes(node['Relation Name'] ?? ''));
      expect(big.map((node) => [node['Node Type'], node['Relation Name'], node['Index Name']]).sort()).toEqual([
        ['Index Only Scan', 'deliveries', 'deliveries_endpoint_id_status_id_idx'],
        ['Index Only Scan', 'events', 'events_client_id_id_idx'],
      ]);
    }
  });

  test('missing events are looked for among 10,000 at most, each by the index of its deliveries', async () => {
    const lists = (await listQueries(explained, filled)).filter(([name]) => name.startsWith('missing events'));
    expect(lists).toHaveLength(6);
    for (const [, run] of lists) {
      explained.plans();
      await run(explained);
      const nodes = explained.plans().flatMap(({ Plan }) => nodesOf(Plan));
      const [looked] = nodes.filter((node) => node['Relation Name'] === 'deliveries');
      expect(looked?.['Index Name']).toBe('deliveries_event_id_idx');
      const big = nodes.filter((node) => BIG.includes(node['Relation Name'] ?? ''));
      for (const node of big) expect(rowsOf(node)).toBeLessThanOrEqual(LOOKED_AT);
    }
  });
});
