import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { buildSchema, findBreakingChanges, lexicographicSortSchema, printSchema } from 'graphql';
import { isObject } from '../../src/domain/text/parse-json.ts';
import { killRunning, runInProcess } from '../../src/testing/worker-process.ts';
import { startKafka } from '../kafka/start-kafka.ts';
import { recordDemo } from './record-demo.ts';

const HELP = `Shows that a change of the code left what users rely on as it was. One demo is recorded from fixed seeds and ids on each log, through
the command line alone; the digests of its trees, ids and images, the bytes of every export, its replays and its ledger are compared with
infra/gates/expected.json, the GraphQL schema with the one of the commit named there.

  npm run gates -- [--log embedded|kafka|both] [--vectors FOLDER] [--faults N] [--write]

  --vectors  a folder of vector files of published systems, besides those of the repository
  --faults   runs the crash laboratory as well, with so many kills, and its other faults between them
  --write    writes what was found to expected.json: after a change that is meant, with the reason in its commit

Exit code 1 where anything differs. Needs Java 17 and Maven for Kafka.
`;

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const EXPECTED = fileURLToPath(new URL('expected.json', import.meta.url));
const FIXTURES = ['src/domain/search', 'src/domain/revision', 'src/domain/training', 'src/environments/agentgym', 'src/images'];

interface Expected {
  /** The commit whose GraphQL schema clients know, and what was removed from it on purpose. */
  readonly schema: { readonly commit: string; readonly removed: readonly string[] };
  readonly demo: unknown;
}

const { values } = parseArgs({
  options: {
    log: { type: 'string', default: 'both' },
    vectors: { type: 'string' },
    faults: { type: 'string', default: '0' },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

let failed = 0;
if (values.help) process.stdout.write(HELP);
else {
  await passGates(JSON.parse(await readFile(EXPECTED, 'utf8')) as Expected);
  process.stdout.write(failed === 0 ? 'all gates hold\n' : `${failed} gates do not hold\n`);
  process.exitCode = failed === 0 ? 0 : 1;
}

async function passGates(expected: Expected): Promise<void> {
  await compareSchema(expected.schema);
  await runVectors();
  const logs = values.log === 'both' ? ['embedded', 'kafka'] : [values.log];
  for (const log of logs) {
    const demo = await record(log);
    if (values.write) await writeFile(EXPECTED, `${JSON.stringify({ ...expected, demo }, null, 2)}\n`);
    else for (const difference of differences('', expected.demo, demo)) report(`demo on the ${log} log${difference}`, false);
    process.stdout.write(`demo on the ${log} log: ${count(demo)} facts\n`);
  }
  if (values.faults !== '0')
    report(`crash laboratory, ${values.faults} kills`, run('infra/chaos/main.ts', ['--kills', values.faults]));
}

/** Records the demo in a folder of its own that goes afterwards. */
async function record(log: string): Promise<unknown> {
  const home = await mkdtemp(join(tmpdir(), 'espalier-gates-'));
  const kafka = log === 'kafka' ? await startKafka() : null;
  try {
    const env = { ESPALIER_HOME: home, ESPALIER_PORT: '0', ESPALIER_PYTHON: 'none' };
    return await recordDemo(kafka ? { ...env, KAFKA_BROKERS: kafka.brokers.join(',') } : env, home);
  } finally {
    await killRunning();
    await kafka?.stop();
    await rm(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
  }
}

async function compareSchema({ commit, removed }: Expected['schema']): Promise<void> {
  const before = readSchemaOf(commit);
  if (before === null) return report(`GraphQL schema: this clone does not hold the commit ${commit}`, false);
  const now = await readSchema();
  const breaking = findBreakingChanges(buildSchema(before), buildSchema(now)).map(({ description }) => description);
  for (const change of breaking.filter((text) => !removed.includes(text))) report(`GraphQL schema: ${change}`, false);
  const lines = (text: string) => printSchema(lexicographicSortSchema(buildSchema(text))).split('\n');
  const known = new Set(lines(before));
  for (const line of lines(now)) if (!known.has(line)) process.stdout.write(`GraphQL schema: + ${line.trim()}\n`);
  process.stdout.write(`GraphQL schema: ${breaking.length} removals, ${removed.length} of them named\n`);
}

async function readSchema(): Promise<string> {
  const folder = join(ROOT, 'graphql/schema');
  const files = (await readdir(folder)).filter((file) => file.endsWith('.graphql')).sort();
  return (await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))).join('\n');
}

function readSchemaOf(commit: string): string | null {
  const git = (...args: string[]) => spawnSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 1e8 });
  const listed = git('ls-tree', '-r', '--name-only', commit, 'graphql/schema');
  if (listed.status !== 0) return null;
  const files = listed.stdout.split('\n').filter((file) => file.endsWith('.graphql'));
  return files.map((file) => git('show', `${commit}:${file}`).stdout).join('\n');
}

async function runVectors(): Promise<void> {
  const folders = [...FIXTURES.map((name) => `${name}/fixtures`), ...(values.vectors === undefined ? [] : [values.vectors])];
  for (const folder of folders) {
    const { code, stdout, stderr } = await runInProcess(['conformance', folder], {});
    if (code !== 0) process.stdout.write(`${stdout}${stderr}`);
    report(`vectors of ${relative(ROOT, join(ROOT, folder))}`, code === 0);
  }
}

function run(script: string, args: readonly string[]): boolean {
  return spawnSync(process.execPath, ['--import', 'tsx', script, ...args], { cwd: ROOT, stdio: 'inherit' }).status === 0;
}

function report(gate: string, holds: boolean): void {
  if (!holds) failed += 1;
  process.stdout.write(`${holds ? 'holds ' : 'DIFFERS'} ${gate}\n`);
}

/** Names every leaf that differs, by its path. */
function differences(path: string, expected: unknown, actual: unknown): readonly string[] {
  if (isDeepStrictEqual(expected, actual)) return [];
  if (!isObject(expected) || !isObject(actual))
    return [`${path}: ${JSON.stringify(actual)} in place of ${JSON.stringify(expected)}`];
  const keys = [...new Set([...Object.keys(expected), ...Object.keys(actual)])];
  return keys.flatMap((key) => differences(`${path}, ${key}`, expected[key], actual[key]));
}

function count(value: unknown): number {
  return isObject(value) ? Object.values(value).reduce<number>((sum, part) => sum + count(part), 0) : 1;
}
