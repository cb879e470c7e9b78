import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import type { Command } from 'commander';
import { createCli } from '../../src/cli/program.js';
import { runCli, startCli } from '../support/cli.js';
import { runCommand } from '../support/command.js';
import { openFolder } from '../support/folder.js';

/** The commands that `program` has, those of its groups included. */
const commandsOf = (program: Command, group = ''): [string, Command][] =>
  program.commands.flatMap((one): [string, Command][] => {
    const name = `${group}${one.name()}`;
    return one.commands.length === 0 ? [[name, one]] : commandsOf(one, `${name} `);
  });
const role = () => Promise.reject(new Error('no role is started here'));
/** Those of the client package have a help of their own. */
const OF_CLIENT = ['verify', 'listen'];
const COMMANDS = commandsOf(await createCli({ start: role, api: role, worker: role }, () => true)).filter(
  ([name]) => !OF_CLIENT.includes(name),
);
const ID = '0195f000-0000-7000-8000-000000000000';

const folder = openFolder();

describe('every command', () => {
  test.each(COMMANDS)('%s explains itself and has --json', (name, command) => {
    const help = command.helpInformation();
    expect(help).toContain(`Usage: transfer-service ${name}`);
    expect(help).toContain('--json');
    expect(command.description()).not.toBe('');
  });

  test('prints its help with --help', async () => {
    const [name, command] = COMMANDS.find(([, { parent }]) => parent?.parent) ?? [];
    const { code, stdout, stderr } = await runCli([...(name ?? '').split(' '), '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe(command?.helpInformation());
  });
});

test('--version prints the version of the package', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  expect(await runCommand(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
});

describe('output that cannot be written', () => {
  test('ends the command quietly when its reader has gone, as `head` does', async () => {
    const child = startCli(['--help']);
    child.stdout?.destroy();
    const [stderr] = await Promise.all([text(child.stderr as NonNullable<typeof child.stderr>), once(child, 'close')]);
    expect([child.exitCode, stderr]).toEqual([0, '']);
  });

  test('is one line and exit code 1 on a full disk', () => {
    const stdio = ['ignore', openSync('/dev/full', 'w'), 'pipe'] as const;
    const { status, stderr } = spawnSync(process.execPath, ['dist/src/cli.js', '--help'], {
      stdio: [...stdio],
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^the output cannot be written: ENOSPC.*\n$/)]);
  });
});

describe('invalid arguments exit with 2 and one line that states the error', () => {
  test.each([
    ['no command', [], 'give a command'],
    ['a group without a command', ['clients'], 'give a command'],
    ['an unknown command', ['transfer'], "unknown command 'transfer' (Did you mean transfers?)"],
    ['an unknown command of a group', ['clients', 'remove'], "unknown command 'remove'"],
    ['an unknown option', ['clients', 'list', '--jsn'], "unknown option '--jsn' (Did you mean --json?)"],
    ['a missing option', ['clients', 'create'], "required option '--name <name>' not specified"],
    ['a missing argument', ['clients', 'show'], "missing required argument 'client_id'"],
    ['one argument too many', ['clients', 'list', 'all'], 'too many arguments'],
    ['an empty name', ['clients', 'create', '--name', ' '], 'Give 1 to 255 characters.'],
    ['an unknown scope', ['clients', 'create', '--name', 'x', '--scope', 'admin'], 'The scopes are transfers:read'],
    ['an invalid CIDR', ['clients', 'create', '--name', 'x', '--allow', '10.0.0'], 'Give a CIDR'],
    ['an invalid duration', ['clients', 'rotate-secret', ID, '--expire-old', 'soon'], 'Give a duration'],
    ['an unknown status', ['transfers', 'set-status', ID, 'DONE'], 'Allowed choices are CREATED'],
    ['an invalid time', ['deliveries', 'list', '--since', 'monday'], 'Give a duration such as 2h, or a time'],
    ['an invalid number', ['audit', 'list', '--limit', '0'], 'Give a number from 1 to 1000.'],
    ['an invalid action', ['audit', 'list', '--action', '%'], 'Give an action or a prefix of one.'],
  ])('%s', async (_, args, line) => {
    const { code, stdout, stderr } = await runCommand(args, { LOCAL_DIR: folder });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(line);
    expect(stderr).toMatch(/^error: [^\n]+\n$/);
  });
});

describe('a failure exits with 1 and one line without a stack trace', () => {
  test('no embedded stack runs and no database is configured', async () => {
    const result = await runCommand(['clients', 'list', '--json'], { LOCAL_DIR: folder });
    expect(result).toEqual({
      code: 1,
      stdout: '',
      stderr: `no embedded stack runs under ${folder}: start one (npm start), or set DATABASE_URL and TEMPORAL_ADDRESS\n`,
    });
  });

  test('Postgres is unreachable', async () => {
    const DATABASE_URL = 'postgresql://nobody:hunter2@127.0.0.1:1/none';
    const { code, stderr } = await runCommand(['clients', 'list'], { DATABASE_URL });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Postgres cannot be reached: [^\n]*127\.0\.0\.1:1\n$/);
    expect(stderr).not.toContain('hunter2');
  });
});
