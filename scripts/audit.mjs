// `npm run audit`: fails for a known vulnerability of a package in package-lock.json, unless it has a reason here, and
// where the registry answers no audit, unless AUDIT_OPTIONAL is set.
import { spawnSync } from 'node:child_process';

/** Advisories that do not concern the service, such as `'GHSA-…': 'only in a test, which parses no foreign input'`. */
const REASONS = {};

const { stdout, stderr } = spawnSync('npm', ['audit', '--package-lock-only', '--json', ...process.argv.slice(2)], {
  encoding: 'utf8',
});
const report = JSON.parse(stdout || '{}');
if (!report.vulnerabilities) {
  process.exitCode = process.env.AUDIT_OPTIONAL ? 0 : 1;
  console.error(`not audited: the registry answers no audit (${report.message ?? stderr.trim().split('\n')[0]})`);
} else {
  const advisories = Object.values(report.vulnerabilities).flatMap(({ via }) => via.filter((one) => one.url));
  const idOf = ({ url }) => url.split('/').at(-1);
  const open = advisories.filter((one) => !(idOf(one) in REASONS));
  const ids = advisories.map(idOf);
  const needless = Object.keys(REASONS).filter((id) => !ids.includes(id));
  for (const one of open) console.error(`${idOf(one)} (${one.severity}): ${one.name} ${one.range}: ${one.title}`);
  for (const id of needless) console.error(`${id}: no package has this advisory any more; remove its reason`);
  if (open.length + needless.length > 0) process.exitCode = 1;
  else console.log(`${advisories.length} advisories, each with a reason`);
}
