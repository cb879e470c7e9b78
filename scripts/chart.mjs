// `npm run chart`: renders deploy/chart with Helm into deploy/kubernetes, for kustomize. With --check it writes nothing and
// fails if a file is out of date. Builds Helm with Go once if it is not installed.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { provideProgram } from './check-deploy/programs.mjs';

const CHART = 'deploy/chart';
const RENDERED = 'deploy/kubernetes';
const HEADER = '# Rendered from deploy/chart by `npm run chart`: change the chart, not this file.\n';

/** The output for kustomize, by file name. */
function render() {
  const helm = provideProgram('helm');
  const run = (args) => execFileSync(helm, args, { encoding: 'utf8' });
  run(['lint', '--strict', CHART]);
  // A Helm that is built with `go install` takes Kubernetes 1.20 as the version of an absent cluster.
  const text = run(['template', 'transfer-service', CHART, '--kube-version=1.36', '--set=forKustomize=true']);
  const files = {};
  for (const document of text.split(/^---\n/m).filter((part) => part.trim() !== '')) {
    const [, name] = /^# Source: \S+\/templates\/(\S+)\n/.exec(document);
    const body = `${document.replace(/^# Source: .*\n/, '').trimEnd()}\n`;
    files[name] = files[name] ? `${files[name]}---\n${body}` : HEADER + body;
  }
  return files;
}

const outdated = [];
for (const [name, text] of Object.entries(render())) {
  const path = `${RENDERED}/${name}`;
  if (existsSync(path) && readFileSync(path, 'utf8') === text) continue;
  outdated.push(path);
  if (!process.argv.includes('--check')) writeFileSync(path, text);
}
if (process.argv.includes('--check') && outdated.length > 0) {
  console.error(`${outdated.join(' and ')}: out of date; run npm run chart`);
  process.exitCode = 1;
}
