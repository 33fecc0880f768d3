import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parquetReadObjects } from 'hyparquet';
import { sha256Hex } from '../../src/digest/sha256.ts';
import { runInProcess } from '../../src/testing/worker-process.ts';

const RUNS = {
  groups: '00000000-0000-7000-8000-000000000001',
  search: '00000000-0000-7000-8000-000000000002',
  images: '00000000-0000-7000-8000-000000000003',
  fork: '00000000-0000-7000-8000-000000000004',
} as const;
const POLICY = 'gates';

/** The exports whose bytes are compared, by the options that make them. */
const EXPORTS: Readonly<Record<string, readonly string[]>> = {
  openai: ['--run', RUNS.groups, '--format', 'openai', '--context', 'drop'],
  sharegpt: ['--run', RUNS.groups, '--format', 'sharegpt', '--context', 'drop'],
  xtuner: ['--run', RUNS.groups, '--format', 'xtuner'],
  trl: ['--run', RUNS.groups, '--format', 'trl'],
  'trl-grpo': ['--run', RUNS.groups, '--format', 'trl-grpo'],
  atif: ['--run', RUNS.groups, '--format', 'atif'],
  parquet: ['--run', RUNS.groups, '--format', 'parquet'],
  'verl prompts': ['--run', RUNS.groups, '--format', 'verl', '--data', 'prompts'],
  'mined good': ['--run', RUNS.search, '--format', 'xtuner', '--data', 'good'],
  'mined revisions': ['--run', RUNS.search, '--format', 'xtuner', '--data', 'revisions'],
  'mined for Agent-R': ['--run', RUNS.search, '--format', 'agent-r', '--data', 'both'],
  'mined pairs': ['--run', RUNS.search, '--format', 'dpo', '--data', 'pairs'],
  'openai of images': ['--run', RUNS.images, '--format', 'openai'],
};

/**
 * Records groups, a search with its revisions, histories as images, a training and a fork by the commands that users have, and
 * returns what must come out the same on any log: digests, outcomes and counts.
 */
export async function recordDemo(env: Readonly<Record<string, string>>, home: string): Promise<unknown> {
  const espalier = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await runInProcess(args, env);
    if (code !== 0) throw new Error(`espalier ${args.join(' ')} ended with ${code}: ${stderr.slice(-2_000)}`);
    return stdout;
  };
  const demo = await espalier('demo', '--exit');
  const textcraft = ['collect', '--environment', 'textcraft', '--policy', 'linear', '--max-steps', '12'];
  await espalier(...textcraft, '--run', RUNS.groups, '--tasks', '6', '--rollouts', '4', '--branching', 'anywhere');
  const mcts = ['--search', 'mcts', '--iterations', '6', '--candidates', '2', '--max-depth', '8'];
  await espalier(...textcraft, '--run', RUNS.search, '--tasks', '3', ...mcts);
  await espalier('revise', '--run', RUNS.search);
  const searchQa = ['collect', '--environment', 'search-qa', '--policy', 'planner:0.4'];
  await espalier(
    ...searchQa,
    '--run',
    RUNS.images,
    '--tasks',
    '3',
    '--rollouts',
    '2',
    '--prompt',
    'image',
    '--compression',
    'factor',
  );
  await espalier('score', '--run', RUNS.images, '--scorer', 'exact-match@1');
  const updates = ['--updates', '2', '--groups', '2', '--group', '3', '--max-steps', '6', '--keep-zero-variance'];
  await espalier('train', '--policy', POLICY, '--environment', 'search-qa', '--test-tasks', '4', ...updates);

  const events = await exportEvents(espalier, home);
  const replays = {
    environment: await espalier('--json', 'replay', 'environment', '--run', RUNS.groups),
    images: await espalier('--json', 'replay', 'images', '--run', RUNS.images),
    scores: await espalier('--json', 'replay', 'scores', '--run', RUNS.images),
    training: await espalier('--json', 'replay', 'training', '--policy', POLICY),
    fork: await espalier('--json', 'replay', 'fork', '--from', firstStep(events.groups), '--run', RUNS.fork),
    projections: await espalier('--json', 'replay', 'projections'),
  };
  const ledgers = JSON.parse(await espalier('--json', 'ledger')) as readonly { policyId: string; difference: number }[];
  return {
    demo: { digest: /^trees digest (\w+)/m.exec(demo)?.[1], difference: /^difference +(-?\d+)$/m.exec(demo)?.[1] },
    contents: mapValues(events, (lines) => digest(lines.map(contentOf).sort())),
    images: digest(imagesOf(events.images)),
    exports: await exportAll(espalier, home),
    replays: mapValues(replays, (text) => (JSON.parse(text) as { outcome: string }).outcome),
    ledgers: Object.fromEntries(ledgers.map(({ policyId, difference }) => [policyId, difference])),
    verify: /^(\w+):/m.exec(await espalier('verify'))?.[1],
  };
}

type Espalier = (...args: readonly string[]) => Promise<string>;
interface RecordedEvent {
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

async function exportEvents(espalier: Espalier, home: string) {
  const read = async (runId: string): Promise<readonly RecordedEvent[]> => {
    const out = join(home, `${runId}.events.jsonl`);
    await espalier('export', '--format', 'jsonl', '--scope', 'trees', '--run', runId, '--out', out);
    const lines = (await readFile(out, 'utf8')).trimEnd().split('\n').slice(1, -1); // the first names the format, the last says that it is whole
    return lines.map((line) => JSON.parse(line) as RecordedEvent);
  };
  return { groups: await read(RUNS.groups), search: await read(RUNS.search), images: await read(RUNS.images) };
}

/** What an event says with its id, without what is measured anew each time. */
function contentOf({ id, type, data }: RecordedEvent): string {
  const { timings, call, cache, ...content } = data;
  return JSON.stringify([type, id, content]);
}

function imagesOf(events: readonly RecordedEvent[]): readonly unknown[] {
  return events.flatMap(({ data }) => ('imageId' in data ? [data.imageId] : [])).sort();
}

function firstStep(events: readonly RecordedEvent[]): string {
  const steps = events.filter(({ type }) => type === 'StepTaken').map(({ data }) => data as { stepId: string; depth: number });
  const [first] = steps.sort((a, b) => a.depth - b.depth || (a.stepId < b.stepId ? -1 : 1));
  if (first === undefined) throw new Error('the demo recorded no steps');
  return first.stepId;
}

async function exportAll(espalier: Espalier, home: string): Promise<Readonly<Record<string, string>>> {
  const digests: Record<string, string> = {};
  for (const [name, options] of Object.entries(EXPORTS)) {
    const out = join(home, `${name.replaceAll(' ', '-')}.export`);
    await espalier('export', ...options, '--out', out);
    const bytes = await readFile(out);
    digests[name] = digest(name === 'parquet' ? await rowsWithoutTimes(bytes) : bytes);
  }
  return digests;
}

/** The rows of a Parquet file of trajectories but for when they began and ended: the one format that says it. */
async function rowsWithoutTimes(bytes: Buffer): Promise<readonly string[]> {
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer; // of a file that was read
  const rows = await parquetReadObjects({ file });
  const plain = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
  return rows.map(({ started_at, finished_at, ...row }) => JSON.stringify(row, plain));
}

function digest(value: Buffer | readonly unknown[]): string {
  return sha256Hex(Buffer.isBuffer(value) ? value : JSON.stringify(value)).slice(0, 16);
}

function mapValues<K extends string, V, W>(record: Readonly<Record<K, V>>, map: (value: V) => W): Record<K, W> {
  return Object.fromEntries(Object.entries<V>(record).map(([key, value]) => [key, map(value)])) as Record<K, W>; // the same keys
}
