import { readFileSync } from 'node:fs';

const WORTH_TELLING = /PANIC:|No space|ready to accept|terminated/;

/** What Postgres, who keeps it running, and the service said of a bad hour: each line once, with how often it was said. */
export function tellLogs(postgresLog, progress, said) {
  const postgres = readFileSync(postgresLog, 'utf8')
    .split('\n')
    .filter((line) => WORTH_TELLING.test(line))
    .map((line) => line.replace(/^.*?(?=[A-Z]+: {2})/, ''));
  const service = said
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .map(({ msg, err }) => `${msg}: ${err?.message?.split('\n').at(-1)}`);
  for (const [who, lines] of Object.entries({ Postgres: postgres, stack: progress, service })) {
    const counts = new Map();
    // Numbers of processes and ports would make each line another.
    for (const line of lines.map((line) => line.replace(/\d{4,}/g, 'N').replace(/ \(\/.*\)$/, '')))
      counts.set(line, (counts.get(line) ?? 0) + 1);
    for (const [line, count] of counts) console.log(`${who}, ${count} times: ${line}`);
  }
}
