import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { createAppender } from '../../../src/append/appender.ts';
import { EventRefused } from '../../../src/append/prepare-events.ts';
import { DEFAULT_STAMP } from '../../../src/events/envelope.ts';
import { EventBuilder } from '../../../src/testing/event-builder.ts';
import { DatasetError } from '../../../src/usecases/datasets/dataset-error.ts';
import { HEADER } from '../../../src/usecases/datasets/event-line.ts';
import { agentTrajDefaults } from '../../../src/usecases/datasets/import/agent-traj-options.ts';
import { importTrajectories } from '../../../src/usecases/datasets/import/import-trajectories.ts';
import { change, changed, damage, damaged, RAW_TEXTS, raw, TEXTS, write } from '../hostile-values.ts';
import { Broken, type Outcome, target, type World } from '../target.ts';

interface Files {
  readonly files: Readonly<Record<string, Buffer>>;
  /** What is named to the import: a file, or the folder. */
  readonly source: string;
}

const FIXTURE = new URL('../../../src/usecases/datasets/import/fixtures/search_results_7.json', import.meta.url);
const TREE: unknown = JSON.parse(await readFile(FIXTURE, 'utf8'));
const ITEM = {
  item_id: 'textcraft_7',
  conversations: [
    { from: 'human', loss: null, value: 'Craft things.' },
    { from: 'gpt', loss: false, value: 'OK.' },
    { from: 'human', loss: null, value: 'Goal: craft a stick.' },
    { from: 'gpt', loss: true, value: 'Thought: x\nAction: get stick' },
    { from: 'human', loss: null, value: 'Got 1 stick' },
  ],
  reward: 1,
  success: 1,
};

/** A file in our own form, of a run under ids that nobody had. */
const own = fc.nat({ max: 2 ** 31 - 1 }).map((n): readonly unknown[] => {
  const builder = new EventBuilder(`imported ${n}`);
  const runId = builder.run();
  builder.walk(builder.tree(runId), 0, 2, 1);
  return [HEADER, ...builder.events, { end: { events: builder.events.length } }];
});
const lines = (rows: unknown) => Buffer.from(Array.isArray(rows) ? `${rows.map(write).join('\n')}\n` : write(rows));
const one = (name: string, bytes: Buffer): Files => ({ files: { [name]: bytes }, source: name });
const changes = fc.array(change, { maxLength: 2 });
const harmed = (bytes: Buffer, harm: Parameters<typeof damaged>[1] | null) => (harm === null ? bytes : damaged(bytes, harm));
const harm = fc.option(damage, { freq: 3 });
const DEEP = 20_000;
const nested = `${'{"children":['.repeat(DEEP)}${']}'.repeat(DEEP)}`;

/** `espalier import`: our own lines, AgentTraj, folders of search trees; whole or not at all. */
export const importTarget = target<Files>({
  name: 'import',
  always: [
    ...RAW_TEXTS.flatMap((text) => [
      one('x.jsonl', Buffer.from(text)),
      one('x.jsonl', lines([{ ...ITEM, reward: raw(text) }])),
      one('search_results_1.json', Buffer.from(text)),
    ]),
    ...TEXTS.map((text) => one('x.jsonl', lines([{ ...ITEM, item_id: text }]))),
    one('search_results_1.json', Buffer.from(nested)),
    one('search_results_1.json', Buffer.from(write({ ...(TREE as object), children: raw(`[${nested}]`) }))),
    {
      files: { 'search_results_1.json': Buffer.from(write(TREE)), 'search_results_01.json': Buffer.from(write(TREE)) },
      source: '.',
    },
    { files: { [`search_results_${'9'.repeat(200)}.json`]: Buffer.from(write(TREE)) }, source: '.' },
    ...['/dev/zero', '/dev/stdin/x', '/proc/self/environ', '../../../../../etc/passwd', '/etc', '\0', 'x'.repeat(5_000), ''].map(
      (source): Files => ({ files: {}, source }),
    ),
  ],
  cases: fc.oneof(
    {
      weight: 3,
      arbitrary: fc
        .tuple(changes, harm)
        .map(([all, bad]) => one('x.jsonl', harmed(lines([all.reduce<unknown>(changed, ITEM)]), bad))),
    },
    { weight: 1, arbitrary: changes.map((all) => one('x.json', Buffer.from(write([ITEM, all.reduce<unknown>(changed, ITEM)])))) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(changes, harm)
        .map(([all, bad]) => one('search_results_7.json', harmed(Buffer.from(write(all.reduce<unknown>(changed, TREE))), bad))),
    },
    {
      weight: 3,
      arbitrary: fc
        .tuple(own, changes, harm)
        .map(([rows, all, bad]) => one('x.jsonl', harmed(lines(all.reduce<unknown>(changed, rows)), bad))),
    },
  ),
  way: {
    process: 'inside',
    async within(world, { files, source }) {
      for (const [name, bytes] of Object.entries(files)) await put(world, name, bytes);
      const before = await everything(world.platform.config.home);
      const outcome = await imported(
        world,
        source === '.'
          ? world.folder
          : source.startsWith('/') || files[source] === undefined
            ? source
            : join(world.folder, source),
      );
      const after = await everything(world.platform.config.home);
      if (outcome.kind === 'refused' && after !== before)
        throw new Broken(`refused, and the files changed from ${before} to ${after}`);
      return outcome;
    },
  },
});

async function imported({ platform }: World, source: string): Promise<Outcome> {
  const { log, blobs, database } = platform;
  const appender = createAppender({
    log,
    blobs,
    stamp: DEFAULT_STAMP,
    producer: { name: 'importer', version: '1' },
    clock: () => 0,
  });
  try {
    const { events, alreadyThere } = await importTrajectories({
      source,
      form: 'detect',
      db: database.db,
      appender,
      blobs,
      agentTraj: { ...agentTrajDefaults, environment: 'textcraft' },
      signal: AbortSignal.timeout(60_000),
      onProgress: () => undefined,
    });
    return { kind: 'accepted', appended: events - alreadyThere };
  } catch (error) {
    if (error instanceof DatasetError || error instanceof EventRefused)
      return { kind: 'refused', code: 'code' in error ? String(error.code) : error.name };
    throw error;
  }
}

async function put({ folder }: World, name: string, bytes: Buffer): Promise<void> {
  await mkdir(dirname(join(folder, name)), { recursive: true });
  await writeFile(join(folder, name), bytes);
}

/** Names of all files below, and how many. */
async function everything(home: string): Promise<string> {
  const names = (await readdir(home, { recursive: true })).sort();
  return `${names.length} files`;
}
