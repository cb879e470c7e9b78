import { readFileSync } from 'node:fs';

const RELEVANT = /PANIC:|No space|ready to accept|terminated/;

/**
 * Prints the log lines of Postgres, of the stack and of the service during an outage, each line once with its count.
 */
export function printLogs(postgresLog, progress, said) {
  const postgres = readFileSync(postgresLog, 'utf8')
    .split('\n')
    .filter((line) => RELEVANT.test(line))
    .map((line) => line.replace(/^.*?(?=[A-Z]+: {2})/, ''));
  const service = said
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .map(({ msg, err }) => `${msg}: ${err?.message?.split('\n').at(-1)}`);
  for (const [who, lines] of Object.entries({ Postgres: postgres, stack: progress, service })) {
    const counts = new Map();
    // Pids and ports would make each line unique.
    for (const line of lines.map((line) => line.replace(/\d{4,}/g, 'N').replace(/ \(\/.*\)$/, '')))
      counts.set(line, (counts.get(line) ?? 0) + 1);
    for (const [line, count] of counts) console.log(`${who}, ${count} times: ${line}`);
  }
}
