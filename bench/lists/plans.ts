import type pg from 'pg';
import { type Database, openDatabase } from '../../src/platform/database/database.js';
import { Secret } from '../../src/platform/secret.js';

/** A node of a plan, as `explain (analyze, buffers, format json)` gives it. */
export interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

export interface Plan {
  'Query Text': string;
  Plan: PlanNode;
}

export interface ExplainedDatabase extends Database {
  /** The plans of all statements since the last call, whether Prisma or the service wrote the SQL. */
  plans(): Plan[];
}

/**
 * The database as the service opens it; Postgres (auto_explain) also reports the plan of each statement.
 */
export function openExplained(url: string): ExplainedDatabase {
  const address = new URL(url);
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': 0,
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_buffers': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_format': 'json',
    'auto_explain.log_level': 'notice',
  };
  const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  address.searchParams.set('options', options.join(' '));
  const plans: Plan[] = [];
  const database = openDatabase({ url: new Secret(address.href), poolSize: 1 });
  database.pool.on('connect', (client: pg.PoolClient) => {
    client.on('notice', ({ message }) => {
      const json = /plan:\s*(\{.*\})\s*$/s.exec(message ?? '')?.[1];
      if (json) plans.push(JSON.parse(json) as Plan);
    });
  });
  return Object.assign(database, { plans: () => plans.splice(0) });
}

export function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

/** Rows that a node read in all its loops, returned or discarded. */
export function rowsOf(node: PlanNode): number {
  return (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
}
