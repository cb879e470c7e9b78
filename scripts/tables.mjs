// `npm run tables`: writes the tables that are generated from the code into their documents, between the markers
// `<!-- NAME -->` and `<!-- /NAME -->`. With --check it writes nothing and fails if a table is out of date.
import { readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { fileURLToPath } from 'node:url';

// The documents show the default without this variable.
delete process.env.XDG_CACHE_HOME;
const { settings } = await import('../dist/src/platform/config/config.js');
const { fileVariable } = await import('../dist/src/platform/config/environment.js');
const { LIMITS, periodOf } = await import('../dist/src/platform/limits.js');
const { PROBLEMS } = await import('../dist/src/platform/refusal.js');
const { createMetrics } = await import('../dist/src/platform/telemetry/metrics.js');
const { COUNTED, measureAttempts, measureBacklog } = await import('../dist/src/reports/backlog.js');
const { measureSandboxTransfers } = await import('../dist/src/transfers/sandbox.js');
const { measureClients } = await import('../dist/src/endpoints/client-results.js');
const { measureNotified } = await import('../dist/src/endpoints/notified.js');
const { measureCertificates, measureProcess } = await import('../dist/src/platform/telemetry/gauges.js');

// Registered as in a process, and never read.
const { registry } = createMetrics();
measureAttempts(registry, {});
measureBacklog(registry, () => {}, 0);
measureClients(registry, () => {});
measureNotified(registry, () => {});
measureSandboxTransfers(registry, {}, COUNTED);
measureProcess(registry, () => {});
measureCertificates(registry, {});
const ownMetrics = registry.getMetricsAsArray().filter(({ name }) => !/^(nodejs|process)_/.test(name));

const code = (text) => `\`${text}\``;
const table = (head, rows) =>
  [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n');

const shown = (byDefault) => (byDefault ? code(byDefault.replace(homedir(), '~')) : '');
const tables = {
  'docs/configuration.md': {
    settings: table(
      ['variable', 'default', 'meaning'],
      Object.entries(settings)
        .filter(([name]) => !name.endsWith('_DATA'))
        .map(([name, { byDefault, meaning, secret }]) => [
          (secret ? [name, fileVariable(name)] : [name]).map(code).join(', '),
          shown(byDefault),
          meaning,
        ]),
    ),
  },
  'docs/operations/metrics.md': {
    metrics: table(
      ['metric', 'meaning'],
      ownMetrics.map(({ name, labelNames, help }) => [
        code(labelNames.length > 0 ? `${name}{${labelNames.join()}}` : name),
        help,
      ]),
    ),
  },
  'docs/errors.md': {
    problems: table(
      ['status', 'code', 'what it means'],
      // Codes of one status and meaning share a row.
      Object.values(Object.groupBy(Object.entries(PROBLEMS), ([, { status, meaning }]) => `${status} ${meaning}`)).map(
        (alike) => {
          const { status, otherStatuses, meaning } = alike[0][1];
          return [[status, ...otherStatuses].join(', '), alike.map(([name]) => code(name)).join(', '), meaning];
        },
      ),
    ),
    limits: table(
      ['what', 'of', 'at most', 'code'],
      Object.values(LIMITS).map(({ what, of, amount, seconds, code: name, in: where }) => [
        what,
        of,
        `${amount.toLocaleString('en')} ${periodOf(seconds)}${where === 'process' ? ' in each process' : ''}`,
        code(name),
      ]),
    ),
  },
};

const outdated = [];
for (const [document, parts] of Object.entries(tables)) {
  const path = fileURLToPath(new URL(`../${document}`, import.meta.url));
  const before = readFileSync(path, 'utf8');
  let after = before;
  for (const [name, content] of Object.entries(parts)) {
    const [open, close] = [`<!-- ${name} -->\n`, `\n<!-- /${name} -->`];
    const [start, end] = [after.indexOf(open), after.indexOf(close)];
    if (start < 0 || end < start) throw new Error(`${document} has no markers for ${name}`);
    after = after.slice(0, start + open.length) + content + after.slice(end);
  }
  if (after === before) continue;
  outdated.push(document);
  if (!process.argv.includes('--check')) writeFileSync(path, after);
}
if (process.argv.includes('--check') && outdated.length > 0) {
  console.error(`${outdated.join(' and ')}: out of date; run npm run tables`);
  process.exitCode = 1;
}
