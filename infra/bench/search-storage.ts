import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { createAppender } from '../../src/append/appender.ts';
import { textReader } from '../../src/blobs/read-text.ts';
import { createRandom } from '../../src/domain/random/random.ts';
import { seedFrom } from '../../src/domain/random/seed-from.ts';
import { publishedTree } from '../../src/domain/search/published-tree.ts';
import { openTextCraft } from '../../src/environments/textcraft/textcraft.ts';
import { TOPICS } from '../../src/events/catalogue.ts';
import { derivedId } from '../../src/events/derived-id.ts';
import type { EventLog } from '../../src/log/event-log.ts';
import type { Platform } from '../../src/platform/open-platform.ts';
import type { Policy } from '../../src/policies/policy.ts';
import { randomPolicy } from '../../src/policies/random-policy.ts';
import { readSearchedTree } from '../../src/projections/revisions/read-searched-trees.ts';
import { runProjections } from '../../src/projections/runner.ts';
import { waitUntilProjected } from '../../src/projections/wait-until.ts';
import { collectRun } from '../../src/usecases/collect/collect-run.ts';
import { treeIdOf } from '../../src/usecases/collect/collect-tree.ts';
import type { CollectPlan } from '../../src/usecases/collect/plan.ts';
import { nothingRecorded } from '../../src/usecases/collect/recorded-run.ts';
import type { Figure, Outcome } from './outcome.ts';
import type { Size, Stage } from './stage.ts';
import { openStagePlatform } from './stage-platform.ts';

const SEARCH: Record<Size, NonNullable<CollectPlan['search']>> = {
  full: { iterations: 8, candidates: 4, maxDepth: 20, exploration: 0.25 }, // the paper's
  quick: { iterations: 2, candidates: 2, maxDepth: 4, exploration: 0.25 },
};
const TASK = { alias: '60', rollouts: 1, branching: 'root' } as const;
const SEED = 1;
const WAIT_MS = 120_000;
const GOAL = { kind: 'below', limit: 2 } as const;

/**
 * How much is said at each node: a line, as our own policies do, or as much as in the trees that the published program was
 * measured on.
 */
const VOICES = [
  { name: 'terse replies', words: 0 },
  { name: 'replies as long as published', words: 95 },
] as const;

/**
 * Measures what a search tree takes in the log: the bytes of its events over those of its text, each reply and observation once.
 * The baseline is the file that the published program would write of the same tree, with the whole conversation at every node.
 */
export async function benchSearchStorage(stage: Stage): Promise<Outcome> {
  const platform = await openStagePlatform(stage);
  const { database, log } = platform;
  const projecting = await runProjections({ log, database });
  const figures: Figure[] = [];
  const nodes: Record<string, string> = {};
  for (const { name, words } of VOICES) {
    const appended: number[] = [];
    const treeId = await search({ ...platform, log: weighing(log, appended) }, words, SEARCH[stage.size]);
    await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: WAIT_MS });
    const size = { ...(await measure(platform, treeId)), gzipByAppend: appended.reduce((sum, bytes) => sum + bytes, 0) };
    nodes[name] = `${size.nodes} nodes, ${Math.round(size.text / size.nodes)} bytes of text each`;
    const over = (what: string, bytes: number, rest: Pick<Figure, 'baseline' | 'goal'>): Figure => {
      return { name: `${name}: ${what} over distinct text`, value: bytes / size.text, unit: 'times', ...rest };
    };
    const published = { name: "the published program's file", value: size.published / size.text, unit: 'times' } as const;
    const alone = { baseline: null, goal: null };
    figures.push(
      over('events, uncompressed, as the embedded log keeps them,', size.events, { baseline: published, goal: GOAL }),
      over('events, gzip by append, as Kafka keeps them by default,', size.gzipByAppend, {
        baseline: published,
        goal: GOAL,
      }),
      over('events, gzip as one file', size.gzip, { baseline: published, goal: GOAL }),
      over('of the events, replies and observations', size.said, alone),
      over('of the events, thought and action again', size.again, alone),
      over('of the events, admissible actions', size.admissible, alone),
      over('of the events, ids and the rest', size.events - size.said - size.again - size.admissible, alone),
    );
  }
  await projecting.close();
  const { iterations, maxDepth, candidates } = SEARCH[stage.size];
  const searched = `TextCraft, ${iterations} iterations x depth ${maxDepth} x ${candidates} candidates, random actions, seed ${SEED}`;
  return { bench: 'search', figures, conditions: { search: searched, ...nodes, ...stage.conditions() } };
}

async function search(
  { log, blobs, stamp }: Platform,
  words: number,
  sizes: NonNullable<CollectPlan['search']>,
): Promise<string> {
  const runId = derivedId('bench search', randomUUID());
  const kind = await openTextCraft();
  try {
    await collectRun({
      runId,
      name: 'search',
      seed: SEED,
      codeVersion: 'bench',
      kind,
      policy: wordy(randomPolicy(), words),
      plan: {
        environment: 'textcraft',
        tasks: [TASK],
        taskSeed: 0,
        policy: 'random',
        temperature: 1,
        maxSteps: 30,
        search: sizes,
      },
      appender: createAppender({ log, blobs, stamp, producer: { name: 'collector', version: 'bench' }, clock: Date.now }),
      recorded: nothingRecorded,
      concurrency: 1,
      clock: Date.now,
      signal: new AbortController().signal,
    });
  } finally {
    await kind.close();
  }
  return treeIdOf(runId, TASK, 0);
}

const SYLLABLES = 'ba ce di fo gu ha je ki lo mu na pe ri so tu ve'.split(' ');

/** Lets a policy say more before it acts. */
function wordy(policy: Policy, words: number): Policy {
  if (words === 0) return policy;
  return {
    ...policy,
    act: async (request, signal) => {
      const acts = await policy.act(request, signal);
      return acts.map((act, i) => {
        const random = createRandom(seedFrom('words', request.seed, i));
        // Words of two or three syllables hold 8 or 12 bits: they compress about as English does.
        const word = () => Array.from({ length: 2 + random.int(2) }, () => random.choice(SYLLABLES)).join('');
        const more = Array.from({ length: words }, word).join(' ');
        return { ...act, response: act.response.replace('Thought: ', `Thought: ${more} `) };
      });
    },
  };
}

/** Compresses what is appended together and is of a tree, and notes the bytes. */
function weighing(log: EventLog, appended: number[]): EventLog {
  const append: EventLog['append'] = (records) => {
    const values = records.filter(({ topic }) => topic === 'trees').map(({ value }) => value);
    if (values.length > 0) appended.push(gzipSync(Buffer.concat(values)).length);
    return log.append(records);
  };
  return new Proxy(log, { get: (target, key) => (key === 'append' ? append : Reflect.get(target, key).bind(target)) });
}

interface Sizes {
  readonly nodes: number;
  /** Instruction, replies and observations, each once. */
  readonly text: number;
  readonly published: number;
  readonly events: number;
  readonly gzip: number;
  readonly gzipByAppend: number;
  readonly said: number;
  readonly again: number;
  readonly admissible: number;
}

async function measure({ database, blobs }: Platform, treeId: string): Promise<Omit<Sizes, 'gzipByAppend'>> {
  const searched = await readSearchedTree(database.db, treeId, textReader(blobs));
  if (!searched) throw new Error(`tree ${treeId} was not projected`);
  const { rows } = await database.pool.query<{ body: string }>('select body from events where stream = $1 order by position', [
    treeId,
  ]);
  const instruction = await database.pool.query<{ instruction: string }>('select instruction from trees where tree_id = $1', [
    treeId,
  ]);
  const [opened] = instruction.rows;
  if (!opened) throw new Error(`tree ${treeId} was not projected`);
  const opening = [
    { role: 'user', content: opened.instruction },
    { role: 'assistant', content: 'Ok.' },
    { role: 'user', content: searched.firstObservation },
  ] as const;
  const said = await partsOf(database.pool, treeId);
  const bodies = rows.map(({ body }) => body);
  return {
    nodes: searched.tree.nodes.size,
    text: opening.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0) + said.said,
    published: Buffer.byteLength(JSON.stringify(publishedTree({ opening, tree: searched.tree }), null, 2)),
    events: bodies.reduce((sum, body) => sum + Buffer.byteLength(body), 0),
    gzip: gzipSync(bodies.join('\n')).length,
    ...said,
  };
}

async function partsOf(
  pool: Platform['database']['pool'],
  treeId: string,
): Promise<Pick<Sizes, 'said' | 'again' | 'admissible'>> {
  const { rows } = await pool.query<{ said: number; again: number; admissible: number }>(
    `select sum(octet_length(response) + octet_length(observation))::int as said,
            sum(octet_length(thought) + octet_length(action))::int as again,
            coalesce(sum(octet_length(to_json(admissible)::text)), 0)::int as admissible
     from steps where tree_id = $1 and parent_step_id is not null`,
    [treeId],
  );
  const [parts] = rows;
  if (!parts) throw new TypeError('an aggregate returns a row');
  return parts;
}
