import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Report } from '../../bench/report.js';

/** The smallest run: its figures mean nothing with so few events, but each figure must exist. */
const SMALLEST = ['--only', 'throughput,floor', '--modes', 'retries-only', '--events', '20', '--rounds', '1'];

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
      expect(speed).toMatchObject({ what: 'retries-only', events: 20, lost: 0, repeated: 0, refused: 0 });
      for (const figure of [speed?.['delivered/s'], cost?.['service MiB'], floor?.['events/s']]) {
        expect(figure).toBeGreaterThan(0);
      }
      // A POST may arrive before its client has read the response: then the delay counts as 0.
      expect(speed?.['p99 ms']).toBeGreaterThanOrEqual(0);
      expect(stdout).toContain('| delivered/s, retries-only ÷ bare loop');
      expect(readdirSync(folder)).toEqual(['results.json']);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }, 180_000);
});
