import { join } from 'node:path';
import { openFolder } from '../support/folder.js';
import { clients, runIn, testWith, vectorLines } from '../support/vectors.js';

const folder = openFolder();
const passes = { status: 0, output: expect.stringMatching(/\b0 failed|^ok /m) };
const compiles = { status: 0, output: '' };

// The first run on a machine compiles Go's standard library.
testWith('go', 'version')('the verifier for Go passes the shared vectors', () => {
  expect(runIn(join(clients, 'go'), 'go', ['test', '-count=1', './...'])).toEqual(passes);
});

testWith('javac')('the verifier for Java passes the shared vectors', () => {
  const sources = ['main/java/transferservice/Webhooks.java', 'test/java/transferservice/VectorsTest.java'];
  const paths = sources.map((path) => join(clients, 'java/src', path));
  expect(runIn(folder, 'javac', ['--release', '17', '-Xlint:all', '-Werror', '-d', '.', ...paths])).toEqual(compiles);
  expect(runIn(folder, 'java', ['-cp', '.', 'transferservice.VectorsTest'], vectorLines())).toEqual(passes);
});

testWith('mcs')('the verifier for C# passes the shared vectors', () => {
  const paths = ['Webhooks.cs', 'VectorsTest.cs'].map((name) => join(clients, 'csharp', name));
  expect(runIn(folder, 'mcs', ['-langversion:7.2', '-out:vectors.exe', ...paths])).toEqual(compiles);
  expect(runIn(folder, 'mono', ['vectors.exe'], vectorLines())).toEqual(passes);
});
