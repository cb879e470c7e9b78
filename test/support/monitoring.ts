import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The alert rules, those of Postgres's own metrics, and the dashboard in deploy/, as text. */
export const ALERTS = readFileSync('deploy/prometheus/alerts.yml', 'utf8');
export const POSTGRES_ALERTS = readFileSync('deploy/prometheus/postgres-alerts.yml', 'utf8');
export const DASHBOARD = readFileSync('deploy/grafana/dashboard.json', 'utf8');

export const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

/** Runs promtool. @returns its output if it fails, or else an empty text */
export function promtool(args: readonly string[], input = ''): string {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  return status === 0 ? '' : stdout + stderr;
}

/** The metrics that rules or a dashboard query, without a histogram's suffixes. */
export function metricsIn(text: string): string[] {
  const names = text.matchAll(/\b(?:webhook|http|database|tls|dependency|temporal|nodejs|process)_[a-z0-9_]+/g);
  return [...new Set([...names].map(([name]) => name.replace(/_(bucket|count)$/, '')))].sort();
}
