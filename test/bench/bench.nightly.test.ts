import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Report } from '../../bench/report.js';

/** The smallest run: its figures mean nothing with so few events, but each figure must exist. */
const SMALLEST = ['--only', 'throughput,roles', '--events', '20', '--rounds', '1'];

describe('npm run bench', () => {
  it('measures the real service and its floor, loses no event, and stops every process', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bench-'));
    const results = join(folder, 'results.json');
    try {
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ['dist/bench/main.js', ...SMALLEST, '--json', results],
        { env: { ...process.env, TMPDIR: folder } },
      );
      const { sections } = JSON.parse(readFileSync(results, 'utf8')) as Report;
      const [speed, cost, floor] = sections.map(({ rows }) => rows[0]!);
      const doubled = sections.find(({ title }) => title === 'Roles, at full speed')?.rows[2];
      expect(speed).toMatchObject({ what: 'retries-only', events: 20, lost: 0, repeated: 0, errors: 0 });
      expect(doubled).toMatchObject({ what: '2 APIs, 2 workers', events: 20, lost: 0, repeated: 0, errors: 0 });
      for (const figure of [speed?.['delivered/s'], cost?.['service MiB'], floor?.['events/s']]) {
        expect(figure).toBeGreaterThan(0);
      }
      // A POST may arrive before its client has read the response: then the delay counts as 0.
      expect(speed?.['p99 ms']).toBeGreaterThanOrEqual(0);
      for (const target of [
        'delivered/s, retries-only ÷ bare loop',
        'CPU of an event, service and Postgres ÷ bare loop and its Postgres',
        'delivered/s, API and worker apart ÷ all in one',
        'delivered/s, 2 APIs and 2 workers ÷ 1 and 1',
      ]) {
        expect(stdout).toContain(`| ${target} `);
      }
      expect(readdirSync(folder)).toEqual(['results.json']);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }, 400_000);

  it('costs at most twice as much for an event with more workers, clients and rows', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bench-scale-'));
    const results = join(folder, 'results.json');
    const size = ['--workers', '3', '--tenants', '50', '--past', '1000,10000', '--steady', '200', '--resting', '5'];
    try {
      await promisify(execFile)(
        process.execPath,
        ['dist/bench/main.js', '--only', 'scale', ...size, '--json', results],
        { env: { ...process.env, TMPDIR: folder } },
      );
      const { rows } = (JSON.parse(readFileSync(results, 'utf8')) as Report).sections[0]!;
      const underLoad = rows.filter(({ what }) => /^(at 20\/s|incident)/.test(String(what)));
      const measured = underLoad.filter(({ what }) => !String(what).endsWith('÷ small'));
      expect(measured.map(({ lost, repeated, errors }) => [lost, repeated, errors])).toEqual(Array(4).fill([0, 0, 0]));
      // Not statements: more processes have smaller batches, whose cost is in the pages.
      const ratios = underLoad
        .filter((row) => !measured.includes(row))
        .flatMap((row) => ['pages', 'rows', 'WAL KiB'].map((count) => ({ what: row.what, count, ratio: row[count] })));
      expect(ratios).toHaveLength(2 * 3);
      for (const { ratio, ...one } of ratios)
        expect({ ...one, ratio, isAtMostTwice: Number(ratio) <= 2 }).toMatchObject({ isAtMostTwice: true });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }, 900_000);
});
