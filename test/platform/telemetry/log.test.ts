import { Writable } from 'node:stream';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { createLog } from '../../../src/platform/telemetry/log.js';

/** A log whose reader stalls until `read` is called. */
function stalledLog() {
  const lines: Record<string, unknown>[] = [];
  let proceed: (() => void) | undefined;
  let stalled = true;
  const output = new Writable({
    decodeStrings: false,
    write(line: string, _encoding, callback) {
      lines.push(JSON.parse(line));
      if (stalled) proceed = callback;
      else callback();
    },
  });
  const counts = { dropped: 0 };
  const log = createLog('info', 'test', () => void counts.dropped++, output);
  const read = () => {
    stalled = false;
    proceed?.();
  };
  return { log, output, lines, counts, read };
}

describe('a reader of the log that stalls', () => {
  test('costs bounded memory: it gets the lines that fitted, and one line with the number of the others', async () => {
    const { log, output, lines, counts, read } = stalledLog();
    for (let i = 0; i < 3_000; i++) log.info({ i, text: 'x'.repeat(1_000) }, 'request');
    expect(output.writableLength).toBeGreaterThan(900_000);
    expect(output.writableLength).toBeLessThanOrEqual(1_000_000);
    read();
    await new Promise(setImmediate);
    const kept = 3_000 - counts.dropped;
    expect(lines.slice(0, kept).map(({ i }) => i)).toEqual(Array.from({ length: kept }, (_, i) => i));
    expect(lines.slice(kept)).toMatchObject([{ level: 40, dropped: counts.dropped }]);
    log.info('afterwards');
    expect(lines.at(-1)).toMatchObject({ msg: 'afterwards' });
    expect(lines).toHaveLength(kept + 2);
  });
});

describe('repeated warnings', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  test('of one kind are limited to ten a minute, and a line says that more are left out', () => {
    const clock = jest.spyOn(performance, 'now').mockReturnValue(1);
    const { log, lines, read } = stalledLog();
    read();
    for (let i = 0; i < 25; i++) log.warn({ err: new TypeError(`fault ${i}`) }, 'unavailable');
    for (let i = 0; i < 12; i++) log.warn({ err: new Error('of another class') }, 'unavailable');
    for (let i = 0; i < 12; i++) log.error('never limited');
    expect(lines).toHaveLength(10 + 1 + 10 + 1 + 12);
    expect(lines[10]).toMatchObject({
      level: 40,
      msg: 'further warnings of this kind are left out for a minute: unavailable (TypeError)',
    });
    clock.mockReturnValue(60_002);
    log.warn({ err: new TypeError('the next minute') }, 'unavailable');
    expect(lines.at(-1)).toMatchObject({ msg: 'unavailable' });
  });

  test('that each say what happened to one delivery or endpoint are all logged', () => {
    const { log, lines, read } = stalledLog();
    read();
    for (let i = 0; i < 25; i++) log.warn({ webhook_id: i }, 'endpoint disabled: gone');
    expect(lines).toHaveLength(25);
  });
});
