import { type Columns, render } from '../../src/cli/view.js';

const now = new Date('2026-11-21T10:00:00.000Z');
type Json = Parameters<typeof render>[0];
const onTerminal = (json: Json, columns: Columns, width: number) => render(json, columns, { width, now });
const elsewhere = (json: Json, columns: Columns) => render(json, columns, undefined);

const ID = '0195f000-0000-7000-8000-000000000000';
const rows = [
  {
    id: ID,
    name: 'Acme',
    due: { at: '2026-11-21T10:04:00.000Z' },
    reason: null,
    scopes: ['a', 'b'],
    url: 'https://hooks.example.com/and/a/long/way/behind/it',
  },
  { id: ID, name: '受信機', due: null, reason: null, scopes: [], url: 'https://example.com' },
];
const columns = ['id', 'name', 'due.at', 'reason', 'url'];

describe('a list on a terminal', () => {
  it('is a table with headers, aligned columns and exact times, without empty columns', () => {
    expect(onTerminal(rows, columns, 140).split('\n')).toEqual([
      `ID${' '.repeat(36)}NAME    AT${' '.repeat(31)}URL`,
      `${ID}  Acme    in 4 min (2026-11-21T10:04:00Z)  ${rows[0]?.url}`,
      // Three characters of twice the width.
      `${ID}  受信機${' '.repeat(35)}https://example.com`,
    ]);
  });
});

describe('a list outside a terminal', () => {
  it('prints an item as a line of cells separated by tabs, independent of other items', () => {
    const line = `${ID}\tAcme\t2026-11-21T10:04:00.000Z\t\t${rows[0]?.url}`;
    expect(elsewhere(rows.slice(0, 1), columns)).toBe(line);
    expect(elsewhere(rows, columns)).toBe(`${line}\n${ID}\t受信機\t\t\thttps://example.com`);
  });
});

it('prints an object as fields with aligned values, and its named lists and objects as tables', () => {
  const json = { id: ID, at: '2026-11-21T07:00:00.000Z', ended: null, scopes: ['a'], one: { n: 1 }, rows, more: [] };
  const shown = { rows: ['name', 'url'], one: ['n'], more: ['n'] };
  expect(onTerminal(json, shown, 80)).toBe(
    [
      `id      ${ID}`,
      'at      3 h ago (2026-11-21T07:00:00Z)',
      'ended   –',
      'scopes  ["a"]',
      'more    []',
      '',
      'rows:',
      'NAME    URL',
      `Acme    ${rows[0]?.url}`,
      '受信機  https://example.com',
      '',
      'one:',
      'N',
      '1',
    ].join('\n'),
  );
  expect(elsewhere(json, shown)).toContain('\n\nrows:\nAcme\thttps:');
});

it('text of a client or a receiver can neither control the terminal nor start a new line, and a body is cut', () => {
  const evil = 'a\u001b[2J\u001b]0;owned\u0007\r\nb\tc\u202egnp.exe\u0085';
  for (const text of [
    onTerminal([{ body: evil }], ['body'], 80).split('\n')[1],
    elsewhere([{ body: evil }], ['body']),
    elsewhere({ body: evil }, {}).slice('body  '.length),
  ]) {
    expect(text).toBe('a\ufffd[2J\ufffd]0;owned\ufffd b c\ufffdgnp.exe\ufffd');
  }
  expect(elsewhere({ evil: { evil: '\u202e' } }, {})).toBe('evil  {"evil":"\ufffd"}');
  expect(elsewhere([{ response_body: 'x'.repeat(4_096) }], ['response_body'])).toBe(`${'x'.repeat(500)}…`);
});
