import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { ALERTS, DASHBOARD, hasPromtool, POSTGRES_ALERTS, promtool } from '../support/monitoring.js';

const dashboard = JSON.parse(DASHBOARD) as { panels: { targets?: { expr: string }[] }[] };
const expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
const rules = ALERTS + POSTGRES_ALERTS;
const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);

const folder = mkdtempSync(join(tmpdir(), 'monitoring-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('each alert links to its entry in the runbook, and has a test in which it fires', () => {
  const runbook = readFileSync('docs/operations/runbook.md', 'utf8');
  const tests = readFileSync('deploy/prometheus/alerts.test.yml', 'utf8');
  expect(alerts.length).toBeGreaterThan(10);
  for (const alert of alerts) {
    const anchor = alert.toLowerCase();
    expect(rules).toContain(`runbook_url: "{{ $externalLabels.runbook }}#${anchor}"\n`);
    expect(runbook).toContain(`\n### ${alert}\n`);
    expect(tests).toMatch(new RegExp(`alertname: ${alert}\\n\\s+exp_alerts:`));
    // Each, except the one that always fires, also has a moment without firing.
    if (alert !== 'Watchdog') expect(tests).toContain(`alertname: ${alert} }`);
  }
});

test("every metric of Temporal's server in the alerts and the dashboard is one that the server serves", () => {
  const served = readFileSync('test/deploy/temporal-server-metrics.txt', 'utf8').split('\n');
  const names = new Set(served.map((line) => line.split(' ')[0]));
  // The server serves it from the first failure on.
  names.add('persistence_errors');
  const asked = [...`${ALERTS} ${expressions.join(' ')}`.matchAll(/(\w+)\{job="temporal"/g)].map(
    ([, name = '']) => name,
  );
  expect(new Set(asked).size).toBeGreaterThan(5);
  expect(asked.map((name) => name.replace(/_bucket$/, '')).filter((name) => !names.has(name))).toEqual([]);
});

const hasAmtool = spawnSync('amtool', ['--version']).status === 0;
(hasAmtool ? test : test.skip)('amtool (Debian: prometheus-alertmanager) accepts the routes', () => {
  const { status, stdout, stderr } = spawnSync('amtool', ['check-config', 'deploy/alertmanager/alertmanager.yml'], {
    encoding: 'utf8',
  });
  expect([status, status === 0 ? '' : stdout + stderr]).toEqual([0, '']);
});

const withPromtool = hasPromtool ? describe : describe.skip;
withPromtool('promtool (Debian: prometheus) finds nothing wrong', () => {
  test('accepts the configuration and its rules', () => {
    expect(promtool(['check', 'config', 'deploy/prometheus/prometheus.yml'])).toBe('');
    expect(promtool(['check', 'rules', 'deploy/prometheus/postgres-alerts.yml'])).toBe('');
  });

  test('passes the tests of the rules', () => {
    expect(promtool(['test', 'rules', 'deploy/prometheus/alerts.test.yml'])).toBe('');
  });

  test("accepts the dashboard's expressions as rules", () => {
    const rules = expressions.map((expr, i) => ({
      record: `panel:${i}`,
      expr: expr.replaceAll('$job', '.*').replaceAll('$__rate_interval', '1m'),
    }));
    const file = join(folder, 'dashboard.yml');
    // JSON is valid YAML.
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
    expect(promtool(['check', 'rules', file])).toBe('');
  });
});
