import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { contextOf } from '../../../domain/dataset/turn-weights.ts';
import { everyTrajectory } from '../../../projections/trajectories/trajectory-query.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { givenEvents } from '../../../testing/given-events.ts';
import { MemoryBlobs } from '../../../testing/memory-blobs.ts';
import { consumersForTests } from '../../../testing/python.ts';
import { useTestDatabase } from '../../../testing/use-test-database.ts';
import { exportRows } from '../rows/export-rows.ts';
import { type ChatTokenizer, openChatTokenizer } from './chat-tokenizer.ts';
import { exportFolder } from './export-folder.ts';
import { exportTrajectories } from './export-trajectories.ts';
import type { ExportFormat } from './format.ts';

const found = await consumersForTests();
const python = found.kind === 'found' ? found.python : '';
const EVIDENCE = new URL('../../../../docs/evidence/formats.md', import.meta.url);
const database = useTestDatabase({ emptied: 'before-each' });
const signal = new AbortController().signal;

/** What a reader found in a file. */
interface Read {
  readonly format: string;
  readonly reader: string;
  readonly version: string;
  readonly read: string;
  readonly rows?: number;
  readonly tokens?: number;
  readonly weight?: number;
  readonly score?: number;
  readonly truths?: readonly string[];
}

/** Replies that are trained on; their texts are a token per sign of the tokenizer, and one that ends them. */
const TRAINED = ['look', 'takebread', 'end', 'lose', 'leave', 'stay', 'own'];
/** Of these those that follow a reply that is context: `leave` a shared step, `own` a guide's. */
const BEHIND_CONTEXT = ['leave', 'own'];
const tokensOf = (replies: readonly string[]) => replies.reduce((sum, reply) => sum + reply.length + 1, 0);

/**
 * A run of two tasks. The first: a rollout of three steps that succeeds, one that fails, and one that goes on from a step of the
 * first. The second, of the test split: a step, and a rollout whose first step a guide took.
 */
function recorded(name: string, value: number, component: string): EventBuilder {
  const builder = new EventBuilder(name);
  const runId = builder.run(name);
  const tree = builder.tree(runId, 'bread');
  const one = builder.rollout(tree, 0);
  const first = builder.step(tree, one, tree.rootStepId, 1, { response: 'look', observation: 'a shelf' });
  const second = builder.step(tree, one, first, 2, { response: 'takebread', observation: 'taken' });
  const leaf = builder.step(tree, one, second, 3, { response: 'end', observation: 'done', termination: 'terminated' });
  builder.reward(tree, leaf, value, { rolloutId: one, component });
  builder.finishRollout(tree, one, leaf, { success: true, steps: 3 });
  const two = builder.rollout(tree, 1);
  const lost = builder.step(tree, two, tree.rootStepId, 1, { response: 'lose', observation: 'lost', termination: 'terminated' });
  builder.reward(tree, lost, 0, { rolloutId: two, component });
  builder.finishRollout(tree, two, lost, { success: false, steps: 1 });
  const three = builder.rollout(tree, 2, { fromStepId: first });
  const left = builder.step(tree, three, first, 2, { response: 'leave', observation: 'left', termination: 'terminated' });
  builder.reward(tree, left, 0, { rolloutId: three, component });
  builder.finishRollout(tree, three, left, { success: false, steps: 1 });
  builder.closeTree(tree, 3);
  const sha = 'b'.repeat(64);
  const task = {
    taskId: builder.id('task', 'axe'),
    environment: 'textcraft',
    serverFingerprint: 'world-1',
    observationHash: sha,
  };
  const other = builder.tree(runId, 'axe', { task: { ...task, alias: 'axe', goal: 'craft axe', depth: 1, split: 'test' } });
  const four = builder.rollout(other, 0);
  const stayed = builder.step(other, four, other.rootStepId, 1, {
    response: 'stay',
    observation: 'stayed',
    termination: 'terminated',
  });
  builder.reward(other, stayed, value / 2, { rolloutId: four, component });
  builder.finishRollout(other, four, stayed, { success: null, steps: 1 });
  const five = builder.rollout(other, 1);
  const policySpans = [{ from: 0, to: 0, policyId: contextOf('random'), version: 0 }];
  const guided = builder.step(other, five, other.rootStepId, 1, { response: 'guide', observation: 'guided', policySpans });
  const own = builder.step(other, five, guided, 2, { response: 'own', observation: 'owned', termination: 'terminated' });
  builder.reward(other, own, value / 4, { rolloutId: five, component });
  builder.finishRollout(other, five, own, { success: true, steps: 2 });
  builder.closeTree(other, 2);
  return builder;
}

(found.kind === 'found' ? describe : describe.skip)(
  `the formats and their readers (${found.kind === 'found' ? found.versions : `skipped: ${found.reason}`})`,
  () => {
    let folder: string;
    let tokenizer: ChatTokenizer;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'espalier-readers-'));
      await run('-m', 'tests_consumers.tiny_model', join(folder, 'model'));
      tokenizer = await openChatTokenizer(join(folder, 'model'));
    }, 300_000);
    afterAll(() => rm(folder, { recursive: true, force: true }));

    test('every reader trains the tokens that the record says and no other, or the export counts what a form cannot say', async () => {
      const runs = [recorded('one', 1, 'environment'), recorded('two', 0.33, 'match')];
      for (const [i, name] of ['one', 'two'].entries()) {
        const { events = [] } = runs[i] ?? {};
        await givenEvents(database.db, events);
        await exportAll(join(folder, name), String(events.find(({ type }) => type === 'RunStarted')?.stream));
      }
      const said = await run('-m', 'tests_consumers.matrix', folder, join(folder, 'model'));
      const reads: readonly Read[] = JSON.parse(/^found (.*)$/m.exec(said)?.[1] ?? 'null');
      const numbersOf = ({ rows, tokens, weight, score, truths }: Read) => ({ rows, tokens, weight, score, truths });
      const expected = reads.map((read) => ({ ...read, ...numbersOf(expectedOf(read)) }));
      expect(reads.map((read) => ({ ...read, ...numbersOf(read) }))).toEqual(expected);
      expect(new Set(reads.map(({ reader }) => reader)).size).toBeGreaterThanOrEqual(13);
      const table = evidence(reads);
      if (process.env.ESPALIER_WRITE_EVIDENCE === '1') await writeFile(EVIDENCE, table);
      expect(await readFile(EVIDENCE, 'utf8')).toBe(table);
    }, 600_000);

    async function exportAll(into: string, runId: string): Promise<void> {
      const query = { ...everyTrajectory, runs: [runId] };
      const common = { db: database.db, blobs: new MemoryBlobs(), query, codeVersion: 'test', waitMs: 60_000, signal, tokenizer };
      const plain = { weights: 'own', metadata: 'include' } as const;
      const formats: Readonly<Record<string, ExportFormat>> = {
        openai: { kind: 'openai', ...plain, context: 'drop' },
        sharegpt: { kind: 'sharegpt', weights: 'own', context: 'drop' },
        trl: { kind: 'trl', ...plain },
        'trl-tokens': { kind: 'trl', ...plain, tokenizer: tokenizer.sha256 },
        'trl-grpo': { kind: 'trl-grpo', metadata: 'include' },
        xtuner: { kind: 'xtuner', ...plain },
        atif: { kind: 'atif', weights: 'own' },
        parquet: { kind: 'parquet', weights: 'own' },
        verl: { kind: 'verl', layout: 'trajectory', tokenizer: tokenizer.sha256 },
        prompts: { kind: 'verl-prompts', truths: null },
      };
      const choices = { existing: 'refuse', empty: 'refuse', onProgress: () => undefined } as const;
      for (const [name, format] of Object.entries(formats)) {
        const ending = format.kind === 'parquet' || format.kind.startsWith('verl') ? 'parquet' : 'jsonl';
        await mkdir(join(into, name), { recursive: true });
        const { counts } = await exportTrajectories({ ...common, ...choices, format, out: join(into, name, `data.${ending}`) });
        if ('context' in format) expect(counts.lost).toEqual({ replies: BEHIND_CONTEXT.length, tokens: 0, rows: 2 });
      }
      for (const context of ['refuse'] as const)
        await expect(
          exportTrajectories({
            ...common,
            ...choices,
            format: { kind: 'openai', ...plain, context },
            out: join(into, 'refused.jsonl'),
          }),
        ).rejects.toThrow('2 trained replies in 2 rows follow replies that are not to be trained on');
      await mkdir(join(into, 'dpo'));
      const gates = { duplicates: 'keep', testTasks: 'keep', evaluations: 'keep', maxPerTask: null } as const;
      await exportRows({
        ...{ ...common, ...choices, out: join(into, 'dpo', 'data.jsonl'), general: null },
        format: { kind: 'dpo', metadata: 'include', span: 'reply' },
        parameters: { data: 'pairs', thresholds: { alpha: 0.2, beta: 0.2 }, state: 'verified', gates },
      });
      await exportFolder({
        ...common,
        ...choices,
        format: { kind: 'trl', ...plain, tokenizer: tokenizer.sha256 },
        out: join(into, 'hf'),
      });
    }
  },
);

/** What the record says of what a reader reads. */
function expectedOf({ format, reader, read }: Read): Read {
  const same = { format, reader, read, version: '' };
  const files = read.startsWith('two runs') ? 2 : 1;
  const said = TRAINED.filter((reply) => !BEHIND_CONTEXT.includes(reply));
  if (reader === 'load_dataset') {
    const rows = { ...ROWS_OF, 'trl --layout hf': read.endsWith('test') ? 2 : 3 }[format];
    if (format === 'dpo') return { ...same, rows: files === 2 ? PAIRS : 3 };
    const tokens = format === 'trl-tokens' ? { tokens: files * tokensOf(TRAINED) } : {};
    const weight = format === 'parquet' ? { weight: files * TRAINED.length } : {};
    return { ...same, rows: files * (rows ?? 0), ...tokens, ...weight };
  }
  switch (format) {
    case 'trl':
      return { ...same, rows: TRAINED.length, tokens: tokensOf(TRAINED) };
    case 'trl-tokens':
      return { ...same, rows: 5, tokens: tokensOf(TRAINED) };
    case 'trl --tokenizer':
      return { ...same, tokens: tokensOf(TRAINED) };
    case 'openai':
    case 'sharegpt':
      return { ...same, rows: 3, tokens: tokensOf(said), ...(reader.startsWith('TRL') ? {} : { weight: said.length }) };
    case 'dpo':
      return { ...same, rows: ROWS_OF.dpo ?? 0, tokens: PAIRED };
    case 'xtuner':
      return { ...same, rows: 5, tokens: tokensOf(TRAINED) };
    case 'atif':
      return { ...same, rows: 5, tokens: tokensOf(TRAINED), weight: TRAINED.length };
    case 'parquet':
      return { ...same, weight: TRAINED.length };
    case 'verl --data prompts':
      return { ...same, rows: 2, truths: ['craft axe', 'craft bread'] };
    // the guide's step is sampled too: a loss on it is left to its policy span
    case 'verl --tokenizer':
      return { ...same, rows: 5, tokens: tokensOf([...TRAINED, 'guide']), score: 1.75 };
    default:
      throw new Error(`${format} by ${reader} has no expectation`);
  }
}

const ROWS_OF: Readonly<Record<string, number>> = {
  ...{ openai: 3, sharegpt: 3, trl: TRAINED.length, 'trl-tokens': 5, 'trl-grpo': 5, xtuner: 5, dpo: 3, atif: 5, parquet: 5 },
};
/** Pairs of both runs: the second has none of its second task, whose rewards differ by less than beta. */
const PAIRS = 5;
/** The replies at which a good and a bad rollout part. */
const PAIRED = tokensOf(['look', 'lose', 'takebread', 'leave', 'stay', 'guide']);

function evidence(reads: readonly Read[]): string {
  const numbers = ({ rows, tokens, weight, score, truths }: Read) =>
    [
      rows === undefined ? '' : `${rows} rows`,
      tokens === undefined ? '' : `${tokens} trained tokens`,
      weight === undefined ? '' : `weight ${weight}`,
      score === undefined ? '' : `score ${score}`,
      truths === undefined ? '' : `ground truths ${truths.join(', ')}`,
    ]
      .filter((text) => text !== '')
      .join(', ');
  return `# Formats and their readers

One record of five trajectories with seven replies that are trained on (${tokensOf(TRAINED)} tokens of a tokenizer of one token per sign, their ends included), two of which follow replies that
are context; and a second one with other rewards. Each file is read by the package that it is written for, and what that trains on is compared with the record.
\`openai\` and \`sharegpt\` leave out what follows context (\`--context drop\`), and their manifests count it: 2 replies.

The table is written by the test that makes it: \`ESPALIER_WRITE_EVIDENCE=1 npm run test:long -- formats-read\`.

| format | reader | reads | finds |
|---|---|---|---|
${reads.map((read) => `| \`${read.format}\` | ${read.reader} ${read.version} | ${read.read} | ${numbers(read)} |`).join('\n')}

\`GRPOTrainer\` takes rollouts from leases and no file: \`python/tests_consumers/test_trl.py\` compares the tokens that it trains on with those on record,
\`test_verl.py\` those of verl's \`DataProto\` made of a lease.
`;
}

async function run(...args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const env = {
      ...process.env,
      HF_HUB_OFFLINE: '1',
      HF_DATASETS_CACHE: join(tmpdir(), `espalier-readers-cache-${process.pid}`),
    };
    execFile(
      python,
      ['-W', 'ignore', ...args],
      { cwd: 'python', env, timeout: 540_000, maxBuffer: 16 * 2 ** 20 },
      (error, stdout, stderr) => (error ? reject(new Error(`${error.message}\n${stderr.slice(-4_000)}`)) : resolve(stdout)),
    );
  });
}
