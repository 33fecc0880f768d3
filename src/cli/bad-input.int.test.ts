import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Platform } from '../platform/open-platform.ts';
import { countEvents, environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { killRunning, runEspalier, startRole } from '../testing/worker-process.ts';

let platform: Platform & { readonly home: string };
let env: Readonly<Record<string, string>>;
let files: string;
let taken: Server;
let port: number;
beforeAll(async () => {
  platform = await openTestPlatform();
  env = environmentOf(platform);
  files = await mkdtemp(join(tmpdir(), 'espalier-input-'));
  await writeFile(join(files, 'text.jsonl'), 'hello\n');
  await writeFile(join(files, 'half.jsonl'), '{"item_id":"textcraft_0","conversations":[{"from":"human","val');
  taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  port = (taken.address() as { port: number }).port; // a TCP server has an address with a port
});
afterAll(async () => {
  await killRunning();
  taken.close();
  await platform.close();
  await rm(files, { recursive: true });
});

const NOBODY = '01234567-89ab-7def-8123-456789abcdef';

// One process costs two seconds: one case for each way of refusing; what each option, filter and format refuses is shown by
// the tests of its parser.
/** Runs a command that must refuse: one line, no stack, and nothing new in the log or among the files. */
async function refusal(
  args: readonly string[],
  changes: Readonly<Record<string, string>> = {},
): Promise<{ code: unknown; line: string }> {
  const before = { events: await countEvents(platform), files: readdirSync(files).sort() };
  const { code, stdout, stderr } = await runEspalier(args, { ...env, ...changes });
  expect(stdout).toBe('');
  expect(stderr).not.toMatch(/^\s+at /m);
  const [line = '', ...rest] = stderr.trimEnd().split('\n');
  expect(rest.filter((more) => !more.startsWith('('))).toEqual([]); // hints of the option parser stand in brackets
  expect({ events: await countEvents(platform), files: readdirSync(files).sort() }).toEqual(before);
  return { code, line };
}

describe('wrong addresses', () => {
  test.each([
    [
      'an address of a database that is none',
      { DATABASE_URL: 'nonsense' },
      /DATABASE_URL must be a URL that begins with postgres:/,
    ],
    [
      'a home below a file',
      { ESPALIER_HOME: join(process.cwd(), 'package.json', 'x') },
      /cannot write to .*package\.json.x \(ENOTDIR\).*ESPALIER_HOME/,
    ],
    ['a home where the system lets nobody write', { ESPALIER_HOME: '/proc/x/y' }, /cannot write to \/proc\/x\/y.*ESPALIER_HOME/],
    [
      'a blob folder that is a file',
      { ESPALIER_BLOBS: join(process.cwd(), 'package.json') },
      /cannot write to .*package\.json.*ESPALIER_BLOBS/,
    ],
  ])('%s is refused with the remedy', async (_name, changes, message) => {
    const { code, line } = await refusal(['status'], changes);
    expect(line).toMatch(message);
    expect(line).not.toContain('secret');
    expect(code).toBe(1);
  });

  test('a database that is missing or does not know the user is named', async () => {
    const stranger = new URL(platform.databaseUrl);
    stranger.username = 'stranger';
    stranger.password = 'secret';
    const missing = new URL(platform.databaseUrl);
    missing.pathname = '/no_such_database';
    for (const url of [stranger, missing]) {
      const { code, line } = await refusal(['status'], { DATABASE_URL: url.toString() });
      expect(line).toMatch(/cannot reach Postgres at .*(stranger|no_such_database).*check DATABASE_URL/);
      expect(line).not.toContain('secret');
      expect(code).toBe(1);
    }
  });

  test('a port in use is named by every server, and the embedded database that was started is stopped', async () => {
    const home = await mkdtemp(join(tmpdir(), 'espalier-taken-'));
    try {
      const { DATABASE_URL: _given, ...embedded } = env;
      const child = startRole('api', { ...embedded, ESPALIER_HOME: home, ESPALIER_PORT: String(port) });
      expect(await child.ended).toBe(1);
      const errors = child
        .stderr()
        .split('\n')
        .filter((line) => line.includes('"level":"error"'));
      expect(errors).toHaveLength(1);
      expect(JSON.parse(errors[0] ?? '')).toMatchObject({
        message: `port ${port} on 127.0.0.1 is in use; stop what listens there, or set ESPALIER_PORT to another (0 takes a free one)`,
      });
      expect(existsSync(join(home, 'postgres', 'data', 'PG_VERSION'))).toBe(true);
      expect(existsSync(join(home, 'postgres', 'data', 'postmaster.pid'))).toBe(false);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });
});

describe('wrong command lines', () => {
  test.each([
    ['an unknown command', ['frobnicate'], /unknown command 'frobnicate'/],
    ['an unknown option', ['collect', '--nope'], /unknown option '--nope'/],
  ])('%s is refused with exit code 2', async (_name, args, message) => {
    const { code, line } = await refusal(args);
    expect(line).toMatch(message);
    expect(code).toBe(2);
  });

  test.each([
    ['a policy', ['collect', '--policy', 'nonsense'], /policy: kind "nonsense" is unknown; write random, planner/],
    ['an environment', ['collect', '--environment', 'nowhere'], /no environment "nowhere"; name textcraft/],
    [
      'a list of tasks',
      ['collect', '--tasks', '0,b 2'],
      /--tasks takes a whole number, or all, not "0,b 2"; name tasks by --task 0 'b 2'/,
    ],
    [
      'an evaluation of no tasks in particular',
      ['evaluate', '--policy', 'planner'],
      /say which tasks: --tasks N, --tasks all \(151 of textcraft\), --task ALIAS, --split NAME or --recover-from RUN/,
    ],
    ['a task by its alias', ['collect', '--task', '200'], /--task: textcraft has no task "200"; it has 151, 0 to 150/],
    [
      'more tasks than there are',
      ['collect', '--environment', 'echo:ab', '--tasks', '3'],
      /--tasks: echo has 2 tasks, not 3; ask for at most 2, or for all/,
    ],
    [
      'a number of tasks that is the alias of one',
      ['evaluate', '--policy', 'planner', '--split', 'test', '--tasks', '140'],
      /of the split "test", not 140; ask for at most \d+, or for all; the task 140 is --task 140/,
    ],
    ['a temperature', ['collect', '--temperature', 'warm'], /--temperature takes a number from 0 to 100, not "warm"/],
    [
      'a run that nobody began',
      ['collect', '--resume', NOBODY],
      new RegExp(`there is no run ${NOBODY}; .espalier status. lists`),
    ],
    [
      'a place of the quarantine',
      ['quarantine', 'requeue', 'trees.0:1'],
      /nothing is quarantined at trees\.0:1; .espalier quarantine list./,
    ],
    ['a place', ['quarantine', 'requeue', 'trees'], /"trees" is no place; a place looks like trees\.0:41/],
  ])('%s that does not exist is refused with those that exist', async (_name, args, message) => {
    const { code, line } = await refusal(args);
    expect(line).toMatch(message);
    expect(code).toBe(1);
  });
});

describe('wrong files', () => {
  test.each([
    ['half a line', 'half.jsonl', /line 1: .*nothing was imported/],
    ['no file', 'missing.jsonl', /cannot read .*missing\.jsonl: there is no such file/],
  ])('an import of %s is refused with the name of the file and the line', async (_name, file, message) => {
    const { code, line } = await refusal(['import', join(files, file)]);
    expect(line).toMatch(message);
    expect(line).toContain(join(files, file));
    expect(code).toBe(1);
  });

  test('an export names the file that a tokenizer lacks, and the format that has no use for one', async () => {
    const lacking = await refusal(['export', '--format', 'verl', '--tokenizer', files, '--out', join(files, 'x.parquet')]);
    expect(lacking).toEqual({ code: 1, line: expect.stringContaining(`--tokenizer ${files}: tokenizer.json cannot be read`) });
    const useless = await refusal(['export', '--format', 'openai', '--tokenizer', files, '--out', join(files, 'x.jsonl')]);
    expect(useless).toEqual({
      code: 1,
      line: expect.stringContaining('--tokenizer is for --format trl, and for verl with --layout trajectory'),
    });
  });

  test('an export refuses a name that says another form than the file has', async () => {
    const lines = await refusal(['export', '--format', 'openai', '--out', join(files, 'x.parquet')]);
    expect(lines).toEqual({ code: 1, line: expect.stringContaining('--format openai writes JSON lines: name the file .jsonl') });
    const columns = await refusal(['export', '--format', 'verl', '--out', join(files, 'x.jsonl')]);
    expect(columns).toEqual({ code: 1, line: expect.stringContaining('--format verl writes Parquet: name the file .parquet') });
  });

  test('an export refuses a file that exists, or a folder that does not, and changes neither', async () => {
    const there = await refusal(['export', '--allow-empty', '--out', join(files, 'text.jsonl')]);
    expect(there).toEqual({
      code: 1,
      line: expect.stringMatching(/text\.jsonl is already there; choose another name, or replace it with --force/),
    });
    expect(await readFile(join(files, 'text.jsonl'), 'utf8')).toBe('hello\n');
    const nowhere = await refusal(['export', '--allow-empty', '--out', join(files, 'none', 'x.jsonl')]);
    expect(nowhere).toEqual({
      code: 1,
      line: expect.stringMatching(/cannot write .*none.x\.jsonl: the folder does not exist; create it first/),
    });
  });
});
