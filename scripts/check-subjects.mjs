// Part of `npm run check`: the subject of each commit that is not on origin/main yet is an imperative of at most 72 columns.
// An argument names another commit to start from.
import { spawnSync } from 'node:child_process';

const [since = 'origin/main'] = process.argv.slice(2);
const { status, stdout } = spawnSync('git', ['log', '--no-merges', '--format=%h %s', `${since}..HEAD`], {
  encoding: 'utf8',
});
/** `Added`, `Adding`, `Adds`; not `Embed`, `Bring` or `Pass`. */
const NO_IMPERATIVE = /^(?!(?:Embed|Feed|Need|Seed|Speed|Bring|Focus)\b)(?:\w+(?:ed|ing|[^s]s)\b|[^A-Z])/;

// Without that commit, as in a shallow clone, there is nothing to compare with.
for (const line of status === 0 ? stdout.trim().split('\n').filter(Boolean) : []) {
  const [, commit, subject] = /^(\S+) (.*)$/.exec(line);
  const fault =
    (subject.length > 72 && `has ${subject.length} columns, at most 72`) ||
    (NO_IMPERATIVE.test(subject) && 'does not begin with an imperative, such as "Add"') ||
    (subject.endsWith('.') && 'ends with a full stop');
  if (!fault) continue;
  console.error(`${commit} ${subject}\n    ${fault}`);
  process.exitCode = 1;
}
