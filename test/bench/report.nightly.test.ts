import { atLeast, atMost, type Report, toMarkdown } from '../../bench/report.js';

const REPORT: Report = {
  at: '2026-11-21T10:00:00.000Z',
  command: 'npm run bench',
  machine: { cpu: 'a processor', cores: 2, memoryGib: 24, node: '20.20.2', loadBefore: 0.1 },
  sections: [
    {
      title: 'Throughput',
      rows: [
        { what: 'retries-only', 'delivered/s': 1_512.34, waiting: Number.NaN },
        { what: 'every-event', 'delivered/s': 20.26, waiting: 7 },
      ],
    },
  ],
  verdicts: [atLeast('delivered/s', 1_512.34, 1_450, 1_600), atMost('events lost', 1, 0)],
};

describe('the report of the bench', () => {
  it('is a table that distinguishes missing figures from zero', () => {
    expect(toMarkdown(REPORT)).toContain(
      [
        '| what         | delivered/s | waiting |',
        '| ------------ | ----------: | ------: |',
        '| retries-only |        1512 |       – |',
        '| every-event  |        20.3 |       7 |',
      ].join('\n'),
    );
  });

  it('names the missed target', () => {
    const lines = toMarkdown(REPORT).split('\n');
    expect(lines.find((line) => line.startsWith('| delivered/s'))).toMatch(/≥ 1450 \| {2}1600 \| met/);
    expect(lines.find((line) => line.includes('events lost'))).toContain('**missed**');
  });

  it('is unchanged when it is read from its file', () => {
    expect(toMarkdown(JSON.parse(JSON.stringify(REPORT)) as Report)).toBe(toMarkdown(REPORT));
  });
});
