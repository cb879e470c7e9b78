import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { ALERTS, DASHBOARD, hasPromtool, promtool } from '../support/monitoring.js';

interface Panel {
  id: number;
  type: string;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string; datasource: { uid: string } }[];
}
const dashboard = JSON.parse(DASHBOARD) as {
  uid: string;
  schemaVersion: number;
  templating: { list: { name: string; type: string }[] };
  panels: Panel[];
};
const expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
const alerts = [...ALERTS.matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);

const folder = mkdtempSync(join(tmpdir(), 'monitoring-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('each alert links to its line in the runbook, and has a test in which it fires', () => {
  const runbook = readFileSync('docs/operations.md', 'utf8');
  const tests = readFileSync('deploy/prometheus/alerts.test.yml', 'utf8');
  expect(alerts.length).toBeGreaterThan(10);
  for (const alert of alerts) {
    const anchor = alert.toLowerCase();
    expect(ALERTS).toContain(`runbook_url: docs/operations.md#${anchor}\n`);
    expect(runbook).toContain(`<a id="${anchor}"></a>\`${alert}\``);
    expect(tests).toMatch(new RegExp(`alertname: ${alert}\\n\\s+exp_alerts:`));
    expect(tests).toContain(`alertname: ${alert} }`);
  }
});

test('the dashboard can be imported: it has its own id, a selectable data source and panels that do not overlap', () => {
  expect(dashboard).toMatchObject({ uid: 'transfer-service', schemaVersion: expect.any(Number) });
  expect(dashboard.templating.list).toContainEqual(
    expect.objectContaining({ name: 'datasource', type: 'datasource', query: 'prometheus' }),
  );
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  for (const { type, title, targets = [], gridPos } of dashboard.panels) {
    expect([title, targets.length > 0]).toEqual([title, type !== 'row']);
    for (const target of targets) expect(target.datasource.uid).toMatch(/^\$\{datasource\}$/);
    expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
  }
  const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
});

const withPromtool = hasPromtool ? describe : describe.skip;
withPromtool('promtool (Debian: prometheus) finds nothing wrong', () => {
  test('accepts the configuration and its rules', () => {
    expect(promtool(['check', 'config', 'deploy/prometheus/prometheus.yml'])).toBe('');
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
