import { fullTime, render, type Table, type View } from '../../src/cli/view.js';

const now = new Date('2026-11-21T10:00:00.000Z');
const at = (text: string) => new Date(text);
const onTerminal = (view: View, width: number) => render(view, { width, now });
const elsewhere = (view: View) => render(view, undefined);

const ID = '0195f000-0000-7000-8000-000000000000';
const table: Table = {
  rows: [
    {
      id: ID,
      receiver: 'hooks.example.com and a long way behind it',
      'next attempt': at('2026-11-21T10:04:00Z'),
      reason: null,
    },
    { id: ID, receiver: '受信機', 'next attempt': null, reason: null },
  ],
  wraps: ['receiver'],
  none: 'nothing',
};

describe('a table on a terminal', () => {
  it('has headers, aligned columns and exact times, and omits empty columns', () => {
    expect(onTerminal(table, 140).split('\n')).toEqual([
      `ID${' '.repeat(36)}RECEIVER                                    NEXT ATTEMPT`,
      `${ID}  hooks.example.com and a long way behind it  in 4 min (2026-11-21T10:04:00Z)`,
      // Three characters of twice the width.
      `${ID}  受信機`,
    ]);
  });

  it('on a narrow terminal, omits exact times and then wraps the columns that may wrap', () => {
    expect(onTerminal(table, 95).split('\n')[1]).toBe(`${ID}  hooks.example.com and a long way behind it  in 4 min`);
    const narrow = onTerminal(table, 72).split('\n');
    expect(narrow).toEqual([
      `ID${' '.repeat(36)}RECEIVER              NEXT ATTEMPT`,
      `${ID}  hooks.example.com     in 4 min`,
      `${' '.repeat(38)}and a long way`,
      `${' '.repeat(38)}behind it`,
      `${ID}  受信機`,
    ]);
  });

  it('prints each row as fields if wrapping does not help, and never breaks an id', () => {
    expect(onTerminal(table, 50)).toBe(
      [
        `id            ${ID}`,
        'receiver      hooks.example.com and a long way',
        '              behind it',
        'next attempt  in 4 min (2026-11-21T10:04:00Z)',
        '',
        `id            ${ID}`,
        'receiver      受信機',
        'next attempt  –',
      ].join('\n'),
    );
  });

  it.each([100, 120, 140])('never breaks an id in a column that wraps: %d', (width) => {
    const details = `client_id=${ID} revoked=[${ID}, ${ID}] url=https://hooks.example.com/${ID}/in`;
    const rows = [{ action: 'clients.rotate-secret', target: ID, details }];
    const shown = onTerminal({ rows, wraps: ['details'], none: 'nothing' }, width);
    expect(shown).toContain(`client_id=${ID}`);
    expect(shown).toContain(`revoked=[${ID},`);
    expect(Math.max(...shown.split('\n').map((line) => line.length))).toBeLessThanOrEqual(width);
  });

  it.each([40, 60, 66, 72, 80, 100, 120, 200])('is never wider than the terminal: %d', (width) => {
    const widths = onTerminal({ ...table, rows: table.rows.slice(0, 1) }, width)
      .split('\n')
      .map((line) => line.length);
    expect(Math.max(...widths)).toBeLessThanOrEqual(Math.max(width, 'id'.length + 14 + 36));
  });
});

describe('a table outside a terminal', () => {
  it('prints a row as a line of cells separated by tabs, independent of other rows', () => {
    const [first] = table.rows as [(typeof table.rows)[number]];
    const line = `${ID}\thooks.example.com and a long way behind it\t2026-11-21T10:04:00.000Z\t`;
    expect(elsewhere({ ...table, rows: [first] })).toBe(line);
    expect(elsewhere(table)).toBe(`${line}\n${ID}\t受信機\t\t`);
  });

  it('prints the text for no rows, with and without a terminal', () => {
    const empty = { ...table, rows: [] };
    expect([elsewhere(empty), onTerminal(empty, 80)]).toEqual(['nothing', 'nothing']);
  });
});

it('aligns the names and values of fields', () => {
  const fields: View = {
    fields: { id: ID, finished: null, made: at('2026-11-21T07:00:00Z') },
  };
  expect(onTerminal([fields, 'that is all'], 80)).toBe(
    `id        ${ID}\nfinished  –\nmade      3 h ago (2026-11-21T07:00:00Z)\n\nthat is all`,
  );
  expect(elsewhere(fields)).toBe(`id        ${ID}\nfinished  –\nmade      2026-11-21T07:00:00.000Z`);
});

it('text of a client or a receiver can neither control the terminal nor start a new line', () => {
  const evil = 'a\u001b[2J\u001b]0;owned\u0007\r\nb\tc\u202egnp.exe\u0085';
  const rows = [{ body: evil }];
  for (const text of [
    onTerminal({ rows, none: '' }, 80).split('\n')[1],
    elsewhere({ rows, none: '' }),
    elsewhere({ fields: { body: evil } }).slice('body  '.length),
  ]) {
    expect(text).toBe('a\ufffd[2J\ufffd]0;owned\ufffd b c\ufffdgnp.exe\ufffd');
  }
});

describe('times', () => {
  const now = new Date('2026-11-21T10:00:00.000Z');

  it('prints the full time to the second', () => {
    expect(fullTime(new Date(now.getTime() + 240_500), now)).toBe('in 4 min (2026-11-21T10:04:00Z)');
  });
});
