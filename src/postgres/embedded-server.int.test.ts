import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createRandom } from '../domain/random/random.ts';
import { type CompiledProgram, compileProgram } from '../testing/compile-program.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-server.ts';
import { connect } from './pool.ts';

let program: CompiledProgram;
let prepared: string;
beforeAll(async () => {
  program = await compileProgram(PROGRAM);
  prepared = await mkdtemp(join(tmpdir(), 'espalier-embedded-'));
  await (await startEmbeddedPostgres({ folder: prepared, durability: 'none' })).close();
});
afterAll(() => rm(prepared, { recursive: true, force: true }));
/** Makes the folder one that had a server before, which takes less than the first start. */
const prepareFolder = () => promisify(execFile)('cp', ['-a', join(prepared, 'data'), join(prepared, 'password'), folder]);
let folder: string;
let opened: EmbeddedPostgres[];
let owners: ChildProcess[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-embedded-'));
  [opened, owners] = [[], []];
});
afterEach(async () => {
  for (const owner of owners) owner.kill('SIGKILL');
  await Promise.all(opened.map((server) => server.close()));
  await until('the server is gone', async () =>
    (await readdir(join(folder, 'data')).catch(() => [])).every((f) => f !== 'postmaster.pid'),
  );
  // one that a user started in place of a killed one may come when that user has left
  await until('its supervisors are gone', async () => (await supervisors()).length === 0);
  await rm(folder, { recursive: true, force: true });
});

describe('starting', () => {
  test('a new folder becomes a Postgres 18 in UTF-8 and C order, on 127.0.0.1 only, with synced commits', async () => {
    const server = await start();
    expect(server.started).toBe(true);
    expect(new URL(server.url)).toMatchObject({ hostname: '127.0.0.1', pathname: '/postgres' });
    const settings = 'listen_addresses unix_socket_directories server_encoding fsync synchronous_commit TimeZone'.split(' ');
    const shown = await Promise.all([...settings, 'server_version'].map((name) => value(server.url, `show ${name}`)));
    expect(shown.slice(0, -1)).toEqual(['127.0.0.1', '', 'UTF8', 'on', 'on', 'UTC']);
    expect(shown.at(-1)).toMatch(/^18\./);
    expect(await value(server.url, 'select datcollate from pg_database where datname = current_database()')).toBe('C');
  });

  test('only a process that can read the password file gains access', async () => {
    const { url } = await start();
    expect((await stat(join(folder, 'password'))).mode & 0o777).toBe(0o600);
    expect(decodeURIComponent(new URL(url).password)).toBe((await readFile(join(folder, 'password'), 'utf8')).trim());
    const wrong = new URL(url);
    wrong.password = 'guess';
    await expect(connect(wrong.toString())).rejects.toMatchObject({ code: '28P01' });
  });

  test('durability `none` syncs nothing, for tests', async () => {
    const { url } = await start('none');
    expect(await value(url, 'show fsync')).toBe('off');
  });

  test('a closed server keeps committed data and its password', async () => {
    const first = await start('none');
    await value(first.url, 'create table kept as select 42 as n');
    await first.close();
    await first.close();
    await expect(connect(first.url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    const second = await start('none');
    expect(await value(second.url, 'select n from kept')).toBe(42);
    expect(new URL(second.url).password).toBe(new URL(first.url).password);
  });

  test('a process killed while it prepares the folder does not block a later start', async () => {
    for (const made of ['supervisor', 'data.new-', 'data']) {
      const owner = spawnOwner();
      const ended = once(owner, 'exit');
      await until(`${made} was made`, async () => (await readdir(folder)).some((name) => name.startsWith(made)));
      owner.kill('SIGKILL');
      await ended;
      for (const supervisor of await supervisors()) process.kill(supervisor, 'SIGKILL');
    }
    const server = await start('none');
    expect(await value(server.url, 'select 1')).toBe(1);
  });
});

describe('sharing', () => {
  test('a second process attaches to the running server, and its close does not stop the server', async () => {
    const owner = await startElsewhere();
    const attached = await start('none');
    expect(attached).toMatchObject({ url: owner.url, started: false });
    await attached.close();
    expect(await value(attached.url, 'select 1')).toBe(1);
  });

  test('one of several processes that start at once in a new folder starts the server, and the others attach', async () => {
    const processes = await Promise.all([startElsewhere(), startElsewhere(), startElsewhere()]);
    expect(processes.filter(({ started }) => started)).toHaveLength(1);
    expect(new Set(processes.map(({ url }) => url)).size).toBe(1);
    expect(await value(processes[0].url, 'select 1')).toBe(1);
    expect((await readdir(folder)).sort()).toEqual(['data', 'password', 'postgres.log', 'supervisor']);
  });
});

describe('the end of the last user', () => {
  beforeEach(prepareFolder);

  test.each(['SIGKILL', 'SIGTERM'] as const)(
    'the server stops when its only process ends by %s, and committed data survives',
    async (signal) => {
      const owner = await startElsewhere();
      await value(owner.url, 'create table kept as select generate_series(1, 1000) as n');
      const pid = await postmasterPid();
      owner.process.kill(signal);
      await until('the supervisor ended', async () => (await supervisors()).length === 0);
      expect(exists(pid)).toBe(false);
      await expect(connect(owner.url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
      const next = await start('none');
      expect(next.started).toBe(true);
      expect(await value(next.url, 'select count(*)::int from kept')).toBe(1_000);
    },
  );

  test.each([
    ['its process', (pid: number) => pid],
    ['its process group', (pid: number) => -pid],
  ])('a server outlives the death of %s that started it, and stops after the last user', async (_name, target) => {
    const starter = await startElsewhere({ detached: true });
    const survivor = await startElsewhere();
    const attached = await start('none');
    expect([starter.started, survivor.started, attached.started]).toEqual([true, false, false]);
    const client = await connect(attached.url);
    const pid = await postmasterPid();
    process.kill(target(starter.process.pid ?? 0), 'SIGKILL');
    await once(starter.process, 'exit');
    survivor.process.kill('SIGTERM');
    await once(survivor.process, 'exit');
    expect((await client.query('select 1 as n')).rows).toEqual([{ n: 1 }]);
    await client.end();
    const next = await startElsewhere();
    expect(next).toMatchObject({ url: attached.url, started: false });
    await attached.close();
    expect(exists(pid)).toBe(true);
    next.process.kill('SIGKILL');
    await until('the postmaster ended', () => !exists(pid));
  });

  test('processes that end in any order, closing or killed, leave the server to the remaining ones', async () => {
    const random = createRandom(7);
    for (let round = 0; round < 2; round++) {
      const users = [await startElsewhere(), ...(await Promise.all([startElsewhere(), startElsewhere()]))];
      const pid = await postmasterPid();
      for (const user of random.shuffle(users)) {
        expect([exists(pid), await value(user.url, 'select 1')]).toEqual([true, 1]);
        user.process.kill(random.choice(['SIGKILL', 'SIGTERM', 'SIGINT'] as const));
        await once(user.process, 'exit');
      }
      await until('the postmaster ended', () => !exists(pid));
    }
  });

  test('a process that arrives while the last one leaves has a server until it leaves itself', async () => {
    const random = createRandom(11);
    await (await start('none')).close();
    const comeAndGo = async () => {
      for (let turn = 0; turn < 8; turn++) {
        const server = await startEmbeddedPostgres({ folder, durability: 'none' });
        const client = await connect(server.url);
        for (let asked = random.int(6); asked >= 0; asked--)
          expect((await client.query('select 1 as n')).rows).toEqual([{ n: 1 }]);
        await client.end();
        await server.close();
      }
    };
    await Promise.all([comeAndGo(), comeAndGo(), comeAndGo()]);
    expect((await readdir(folder)).sort()).toEqual(['data', 'password', 'postgres.log']);
    expect(await readdir(join(folder, 'data'))).not.toContain('postmaster.pid');
  });

  test('the next start replaces a supervisor that was killed, at the same address, and the server stops after the last user', async () => {
    const first = await start('none');
    await value(first.url, 'create table kept as select 7 as n');
    await signalSupervisors('SIGKILL');
    const second = await start('none');
    expect(second.url).toBe(first.url);
    await first.close();
    expect(await value(second.url, 'select n from kept')).toBe(7);
    await second.close();
    await expect(connect(second.url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('a server whose supervisor and all users were killed stops', async () => {
    const owner = await startElsewhere();
    const pid = await postmasterPid();
    owner.process.kill('SIGSTOP'); // so that it replaces nobody
    await signalSupervisors('SIGKILL');
    owner.process.kill('SIGKILL');
    await until('the postmaster ended', () => !exists(pid));
  });

  test('a folder whose postmaster was killed starts again', async () => {
    const first = await start();
    await value(first.url, 'create table kept as select 7 as n');
    process.kill(await postmasterPid(), 'SIGKILL');
    const second = await start();
    expect(second.url).toBe(first.url);
    const kept = () => value(second.url, 'select n from kept').catch(() => undefined);
    await until('it answers again', async () => (await kept()) === 7);
  });
});

describe('a server with users', () => {
  beforeEach(prepareFolder);

  test('a server that was killed is started again by a user of it, at the same address, and committed data survives', async () => {
    const users = [await startElsewhere(), await startElsewhere()] as const;
    await value(users[0].url, 'create table kept as select 7 as n');
    const before = await postmasterPid();
    users[0].process.kill('SIGKILL'); // the one that started it
    process.kill(before, 'SIGKILL');
    const kept = () => value(users[1].url, 'select n from kept').catch(() => undefined);
    await until('it answers again', async () => (await kept()) === 7);
    const after = await postmasterPid();
    expect(after).not.toBe(before);
    users[1].process.kill('SIGKILL');
    await until('the postmaster ended behind its last user', () => !exists(after));
  });

  test('a supervisor that was killed is replaced by a user, at the same address, and the server stops behind the last one', async () => {
    const user = await startElsewhere();
    await value(user.url, 'create table kept as select 7 as n');
    await signalSupervisors('SIGKILL');
    const kept = () => value(user.url, 'select n from kept').catch(() => undefined);
    await until('there is another supervisor', async () => (await supervisors()).length === 1 && (await kept()) === 7);
    const pid = await postmasterPid();
    user.process.kill('SIGKILL');
    await until('the postmaster ended', () => !exists(pid));
    await until('its supervisor ended', async () => (await supervisors()).length === 0);
  });

  test('a supervisor that is frozen keeps nobody from entering, and the server stops behind the last user', async () => {
    const first = await startElsewhere();
    const [frozen = 0] = await signalSupervisors('SIGSTOP');
    const second = await start('none');
    expect(second.url).toBe(first.url);
    first.process.kill('SIGKILL');
    await once(first.process, 'exit');
    await second.close();
    await expect(connect(first.url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(exists(frozen)).toBe(false);
  });

  test('a supervisor whose folder is removed ends, and its server with it', async () => {
    const user = await startElsewhere();
    const pid = await postmasterPid();
    await rm(join(folder, 'supervisor'));
    user.process.kill('SIGSTOP'); // so that it starts no other one
    await until('the postmaster ended', () => !exists(pid));
    user.process.kill('SIGKILL');
  });
});

describe('obstacles', () => {
  beforeEach(prepareFolder);

  test('a folder whose server was killed during a statement starts again at the same port when the statement ends', async () => {
    const first = await start();
    const client = await connect(first.url);
    client.on('error', () => undefined); // its server is killed
    const answer = client.query('select count(*) from generate_series(1, 4000000)').catch(() => undefined);
    const computing = "select exists (select from pg_stat_activity where state = 'active' and query like 'select count%')";
    await until('it computes', async () => (await value(first.url, computing)) === true);
    process.kill(await postmasterPid(), 'SIGKILL');
    const port = Number(new URL(first.url).port);
    const again = await start();
    expect(Number(new URL(again.url).port)).toBe(port);
    await answer;
    await client.end().catch(() => undefined);
  });

  test('a postmaster.pid whose number belongs to another program does not block a start', async () => {
    const { uid, gid } = await stat(join(folder, 'data'));
    const other = spawn('sleep', ['60'], { ...(process.getuid?.() === 0 ? { uid, gid } : {}), stdio: 'ignore' });
    owners.push(other);
    await writeFile(join(folder, 'data/postmaster.pid'), `${other.pid}\n${folder}/data\n1\n5432\n\n127.0.0.1\n\nready   \n`);
    expect(await start('none')).toMatchObject({ started: true });
  });

  test('a folder of another major version is refused with both versions and the remedy', async () => {
    await writeFile(join(folder, 'data/PG_VERSION'), '17\n');
    await expect(start()).rejects.toMatchObject({
      name: 'EmbeddedServerError',
      code: 'other-version',
      message: expect.stringMatching(/Postgres 17.*Postgres 18.*ESPALIER_HOME.*DATABASE_URL/s),
    });
  });

  test('a folder that cannot be created is refused by name with the remedy', async () => {
    await writeFile(join(folder, 'file'), '');
    const inside = join(folder, 'file/pg');
    await expect(startEmbeddedPostgres({ folder: inside })).rejects.toMatchObject({
      code: 'unwritable-folder',
      message: expect.stringMatching(new RegExp(`${inside}.*ESPALIER_HOME.*DATABASE_URL`)),
    });
  });

  test('broken settings in the folder end the start with the message of Postgres, without a wait', async () => {
    await writeFile(join(folder, 'data/postgresql.conf'), 'no_such_setting = 1\n');
    await expect(start()).rejects.toMatchObject({ code: 'failed', message: expect.stringContaining('no_such_setting') });
  });

  const asRoot = process.getuid?.() === 0 ? test : test.skip;
  asRoot('for root, also a folder under a closed home works', async () => {
    const home = join(folder, 'home');
    await mkdir(home, { mode: 0o700 });
    await chmod(folder, 0o700);
    const server = await startEmbeddedPostgres({ folder: join(home, 'pg'), durability: 'none' });
    try {
      expect(await value(server.url, 'select 1')).toBe(1);
    } finally {
      await server.close();
    }
  });
});

async function start(durability: 'fsync' | 'none' = 'fsync'): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ folder, durability });
  opened.push(server);
  return server;
}

const MODULE = fileURLToPath(new URL('./embedded-server.ts', import.meta.url));
const PROGRAM = `
  import { startEmbeddedPostgres } from ${JSON.stringify(MODULE)};
  const { url, started } = await startEmbeddedPostgres({ folder: process.argv[1] });
  console.log(JSON.stringify({ url, started }));
  setInterval(() => {}, 1000);
`;

function spawnOwner(options: { readonly detached?: boolean } = {}): ChildProcess {
  const { args, cwd } = program;
  const owner = spawn(process.execPath, [...args, folder], { ...options, cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  owners.push(owner);
  return owner;
}

async function startElsewhere(
  options: { readonly detached?: boolean } = {},
): Promise<{ url: string; started: boolean; process: ChildProcess }> {
  const owner = spawnOwner(options);
  // stdout is a pipe
  for await (const line of createInterface({ input: owner.stdout! })) return { ...JSON.parse(line), process: owner };
  throw new Error('the process ended before it said its address');
}

async function value(url: string, sql: string): Promise<unknown> {
  const client = await connect(url);
  try {
    const { rows } = await client.query<Record<string, unknown>>(sql);
    return Object.values(rows[0] ?? {})[0];
  } finally {
    await client.end();
  }
}

async function postmasterPid(): Promise<number> {
  return Number((await readFile(join(folder, 'data/postmaster.pid'), 'utf8')).split('\n')[0]);
}

/** Lists the supervisors of this folder. */
async function supervisors(): Promise<readonly number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-e', '-o', 'pid=,args=']);
  const lines = stdout.split('\n').filter((line) => line.includes(`workers/postgres.ts ${folder} `));
  return lines.map((line) => Number.parseInt(line, 10));
}

async function signalSupervisors(signal: 'SIGKILL' | 'SIGSTOP'): Promise<readonly number[]> {
  const pids = await supervisors();
  expect(pids).toHaveLength(1);
  for (const pid of pids) process.kill(pid, signal);
  return pids;
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 20_000;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`waited without success until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
