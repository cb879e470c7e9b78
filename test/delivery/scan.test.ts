import { describe, expect, it } from '@jest/globals';
import type { Cursor } from '../../src/delivery/lease.js';
import { Scan } from '../../src/delivery/scan.js';

/** A queue of so many lines, of which a statement looks at 200. @returns the number of statements */
function run(scan: Scan, lines: number): number {
  let statements = 0;
  for (; scan.isDue && statements < 1_000; statements++) {
    const from = Number(scan.begin()?.endpointId ?? 0);
    const to = from + 200;
    scan.end(to < lines ? ({ endpointId: String(to), line: 'late' } satisfies Cursor) : null);
  }
  return statements;
}

describe('a scan of the queue', () => {
  // A pass wrapped and set its own flag again: it never ended.
  it.each([0, 150, 200, 500, 10_000])('looks at all of %i lines once, and ends', (lines) => {
    const scan = new Scan();
    scan.requestPass();
    expect(run(scan, lines)).toBe(Math.max(1, Math.ceil(lines / 200)));
    expect(scan.isDue).toBe(false);
  });

  it('costs one statement in each poll, and comes to every line', () => {
    const scan = new Scan();
    const starts: unknown[] = [];
    for (let poll = 0; poll < 6; poll++) {
      scan.requestStep();
      starts.push(Number(scan.begin()?.endpointId ?? 0));
      const next = Number(starts.at(-1)) + 200;
      expect(scan.end(next < 500 ? { endpointId: String(next), line: 'late' } : null)).toBe(true);
      expect(scan.isDue).toBe(false);
    }
    expect(starts).toEqual([0, 200, 400, 0, 200, 400]);
  });

  // Each worker had its own place: with eight of them, a line waited eight times as long.
  it('regression: continues where another worker has ended, except during a pass', () => {
    const scan = new Scan();
    const ended = { endpointId: '400', line: 'late' } as const;
    scan.continueAfter(ended);
    scan.requestStep();
    expect(scan.begin()).toEqual(ended);
    scan.end(null);
    scan.requestPass();
    scan.continueAfter(ended);
    expect(scan.begin()).toBeNull();
    scan.end(null);
    scan.requestStep();
    expect(scan.begin()).toEqual(ended);
  });

  it('repeats a pass that is requested during a pass or during a statement, and not one that is requested before', () => {
    const scan = new Scan();
    scan.requestPass();
    scan.requestPass();
    expect(run(scan, 500)).toBe(3);
    scan.requestPass();
    scan.begin();
    scan.requestPass();
    scan.end({ endpointId: '200', line: 'late' });
    expect(run(scan, 500)).toBe(2 + 3);
    scan.requestStep();
    scan.begin();
    scan.requestPass();
    scan.end({ endpointId: '200', line: 'late' });
    expect(run(scan, 500)).toBe(3);
  });
});
