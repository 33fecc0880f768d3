/**
 * Makes a record by the program of another commit, and asks that program about it:
 *
 *     npx tsx src/testing/old-records/make-record.ts CHECKOUT NAME
 *
 * CHECKOUT is an installed checkout of that commit. Its command line makes the record in a folder of its own; all there is then
 * goes into fixtures/NAME.ndjson.br, and what the program says about it into fixtures/NAME.json. A commit whose folders lie
 * elsewhere needs other paths in `inside`.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '../../postgres/embedded-server.ts';
import { connect } from '../../postgres/pool.ts';
import { dumpTables } from './dump-tables.ts';
import { type Espalier, EXPORTS, READS, REPLAYS, RUNS, recordEverything, VERIFY } from './record-commands.ts';
import { type Answer, type OldAnswers, type RecordPart, writeRecord } from './record-file.ts';

const [checkout = '.', name = ''] = process.argv.slice(2);
const home = await mkdtemp(join(tmpdir(), 'espalier-old-'));
const released = join(home, 'released');
const overrides = { ESPALIER_HOME: home, ESPALIER_PARTITIONS: '4', ESPALIER_PORT: '0' };
const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...overrides };

const espalier: Espalier = {
  run: (args) => run(['bin/espalier.js', '--json', ...args]),
  async append(events) {
    const file = join(home, 'events.json');
    await writeFile(file, JSON.stringify(events));
    await inside(`
      const events = JSON.parse(await readFile(${JSON.stringify(file)}, 'utf8'));
      await platform.log.append(await prepareEvents(events, platform.blobs));`);
  },
};

async function run(args: readonly string[]): Promise<Answer> {
  const child = spawn(process.execPath, args, { cwd: checkout, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    stdout += chunk;
  });
  const code = await new Promise<number>((done) => child.once('close', (ended) => done(ended ?? -1)));
  process.stderr.write(`${code}: ${args.join(' ').slice(0, 200)}\n`);
  return { code, said: JSON.parse(stdout.trim().split('\n').at(-1) || 'null') };
}

/** Runs statements on the opened platform of the program; what they leave in `said` is returned. */
async function inside(statements: string): Promise<unknown> {
  const script = `
    import { readFile } from 'node:fs/promises';
    import { prepareEvents } from './src/append/prepare-events.ts';
    import { openPlatform } from './src/platform/open-platform.ts';
    import { runDigest } from './src/platform/run-digest.ts';
    import { readConfig } from './src/runtime/config.ts';
    const platform = await openPlatform(readConfig(), 'record');
    const said = {};
    ${statements}
    console.log(JSON.stringify(said));
    await platform.close();`;
  const { code, said } = await run(['--import', 'tsx', '--input-type=module', '-e', script]);
  if (code !== 0) throw new Error(`ended with ${code}: ${statements}`);
  return said;
}

/** Digests what happened in every run: by the function that the program's demo prints it with. */
async function digests(): Promise<OldAnswers['digests']> {
  const runs = JSON.stringify(Object.values(RUNS));
  const said = await inside(`for (const id of ${runs}) said[id] = (await runDigest(platform, id)).digest;`);
  return said as OldAnswers['digests']; // a digest for each run
}

async function ask(line: string): Promise<Answer> {
  return espalier.run(line.split(' ').map((part) => part.replace('FOLDER', released)));
}

async function exported(line: string): Promise<Answer> {
  const out = join(home, 'exported');
  const { code } = await ask(`${line} --out ${out} --force`);
  return {
    code,
    said: createHash('sha256')
      .update(await readFile(out))
      .digest('hex'),
  };
}

async function filesOf(folder: string): Promise<readonly RecordPart[]> {
  const entries = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const paths = entries.map((entry) => join(entry.parentPath, entry.name)).sort();
  const parts = paths.map(async (path) => {
    const base64 = (await readFile(path)).toString('base64');
    return { kind: 'file' as const, path: relative(home, path), base64 };
  });
  return Promise.all(parts);
}

async function tables(): Promise<readonly RecordPart[]> {
  const server = await startEmbeddedPostgres({ folder: join(home, 'postgres') });
  try {
    const client = await connect(server.url);
    const parts = await dumpTables(client, resolve(checkout, 'src/projections'));
    await client.end();
    return parts;
  } finally {
    await server.close();
  }
}

await mkdir(released);
await recordEverything(espalier, released);
const answers: Record<string, Answer> = {};
for (const line of REPLAYS) answers[line] = await ask(line);
for (const line of [VERIFY, ...READS]) answers[line] = await ask(line);
for (const line of EXPORTS) answers[line] = await exported(line);
const said: OldAnswers = { digests: await digests(), answers };
const folder = fileURLToPath(new URL('fixtures/', import.meta.url));
const parts = [...(await filesOf(join(home, 'blobs'))), ...(await filesOf(released)), ...(await tables())];
const bytes = await writeRecord(join(folder, `${name}.ndjson.br`), parts);
await writeFile(join(folder, `${name}.json`), `${JSON.stringify(said, null, 1)}\n`);
process.stderr.write(`${bytes} bytes\n`);
await rm(home, { recursive: true });
