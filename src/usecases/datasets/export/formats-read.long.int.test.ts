import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { promptMessages } from '../../../domain/history/prompt.ts';
import { everyTrajectory } from '../../../projections/trajectories/trajectory-query.ts';
import { givenEvents } from '../../../testing/given-events.ts';
import { MemoryBlobs } from '../../../testing/memory-blobs.ts';
import { consumersForTests } from '../../../testing/python.ts';
import { LEASED, leaseInto, recordRun } from '../../../testing/record-formats.ts';
import { recordRevision } from '../../../testing/record-revision.ts';
import { useTestDatabase } from '../../../testing/use-test-database.ts';
import { exportRows } from '../rows/export-rows.ts';
import type { RowFormat } from '../rows/row-options.ts';
import { type ChatTokenizer, openChatTokenizer } from './chat-tokenizer.ts';
import { exportFolder } from './export-folder.ts';
import { exportTrajectories } from './export-trajectories.ts';
import type { ExportFormat } from './format.ts';
import { manifestPath } from './manifest.ts';

const found = await consumersForTests();
const python = found.kind === 'found' ? found.python : '';
const EVIDENCE = new URL('../../../../docs/evidence/formats.md', import.meta.url);
const database = useTestDatabase({ emptied: 'before-each' });
const signal = new AbortController().signal;

/** What is trained on, as a reader found it and as the record says it. */
interface Trained {
  readonly rows: number;
  readonly tokens?: number;
  /** The sum of the weights of replies; of rewards where the format holds those. */
  readonly weight?: number;
  /** Tokens of prompts of a file of which nothing is trained on. */
  readonly prompted?: number;
  readonly truths?: readonly string[];
}

interface Read extends Trained {
  readonly format: string;
  readonly reader: string;
  readonly version: string;
  readonly read: string;
}

/** Replies that are trained on; their texts are a token per sign of the tokenizer, and one that ends them. */
const TRAINED = ['look', 'takebread', 'end', 'lose', 'leave', 'stay', 'own'];
/** Of these those that follow a reply that is context: `leave` a shared step, `own` a guide's. */
const BEHIND_CONTEXT = ['leave', 'own'];
/** Those of the tree of the split `test`. */
const TESTED = ['stay', 'own'];
/** What the record adds up to: returns of the five rollouts for each unit of `value`. */
const RETURNS = 1 + 1 / 2 + 1 / 4;
/** The values of the two runs. */
const VALUES = [1, 0.33] as const;
const INSTRUCTION = 'Craft what is asked.';
const tokensOf = (replies: readonly string[]) => replies.reduce((sum, reply) => sum + reply.length + 1, 0);

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
      const runs = [recordRun('one', VALUES[0], 'environment'), recordRun('two', VALUES[1], 'match')];
      for (const [i, name] of ['one', 'two'].entries()) {
        const { events = [] } = runs[i] ?? {};
        await givenEvents(database.db, events);
        await exportAll(join(folder, name), String(events.find(({ type }) => type === 'RunStarted')?.stream));
      }
      await leaseInto(database.db, join(folder, 'lease.safetensors'));
      await exportMined(join(folder, 'mined'));
      const said = await run('-m', 'tests_consumers.matrix', folder, join(folder, 'model'));
      const reads: readonly Read[] = JSON.parse(/^found (.*)$/m.exec(said)?.[1] ?? 'null');
      expect(reads).toEqual(
        reads.map(({ format, reader, version, read }) => ({
          format,
          reader,
          version,
          read,
          ...recordSays(format, reader, read),
        })),
      );
      const cells = new Set(reads.map(({ format, reader, read }) => `${format} by ${reader}, ${read}`));
      expect(cells.size).toBe(reads.length);
      for (const format of Object.keys(RECORDED))
        for (const [reader, read] of EVERY_FORMAT) expect(cells).toContain(`${format} by ${reader}, ${read}`);
      for (const cell of OWN_READERS) expect(cells).toContain(cell);
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
        steps: { kind: 'verl', layout: 'step' },
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

    /** Exports examples of a searched tree, and puts those for TRL in one folder with the trajectories of the two runs. */
    async function exportMined(into: string): Promise<void> {
      const { builder, place } = recordRevision();
      await givenEvents(database.db, builder.events);
      const query = { ...everyTrajectory, runs: [place.run] };
      const common = { db: database.db, blobs: new MemoryBlobs(), query, codeVersion: 'test', waitMs: 60_000, signal, tokenizer };
      const gates = { duplicates: 'keep', testTasks: 'keep', evaluations: 'keep', maxPerTask: null } as const;
      const formats: Readonly<Record<string, Partial<RowFormat> & Pick<RowFormat, 'kind'>>> = {
        trl: { kind: 'trl' },
        'trl-tokens': { kind: 'trl', tokenizer: tokenizer.sha256 },
        openai: { kind: 'openai', context: 'drop' },
        xtuner: { kind: 'xtuner' },
        'agent-r': { kind: 'agent-r' },
      };
      for (const [name, format] of Object.entries(formats)) {
        await mkdir(join(into, name), { recursive: true });
        const { counts } = await exportRows({
          ...{ ...common, out: join(into, name, 'data.jsonl'), general: null, existing: 'refuse', onProgress: () => undefined },
          format: { metadata: 'include', span: 'reply', ...format },
          parameters: { data: 'both', thresholds: { alpha: 0.5, beta: 0.2 }, state: 'verified', gates },
        });
        expect(counts.lost).toEqual(format.context && { replies: 1, tokens: 0, rows: 1 });
      }
      await mkdir(join(folder, 'several', '_manifests'), { recursive: true });
      for (const [name, from] of Object.entries({ one: 'one/trl', two: 'two/trl', mined: 'mined/trl' })) {
        const target = join(folder, 'several', `${name}.jsonl`);
        await cp(join(folder, from, 'data.jsonl'), target);
        await cp(manifestPath(join(folder, from, 'data.jsonl')), manifestPath(target));
      }
    }
  },
);

/** Readers of every format. */
const EVERY_FORMAT = [
  ...['file', 'folder', 'two runs', 'two runs, the other first'].map((read) => ['load_dataset', read] as const),
  ...['pandas', 'polars', 'duckdb', 'pyarrow'].map((reader) => [reader, 'file'] as const),
];
/** The trainers that a format is written for. */
const OWN_READERS = [
  'trl by TRL SFTTrainer, file',
  'trl-tokens by TRL SFTTrainer, file',
  'openai by TRL SFTTrainer(assistant_only_loss=True), file',
  'openai by LLaMA-Factory SupervisedDatasetProcessor, file',
  'sharegpt by LLaMA-Factory SupervisedDatasetProcessor, file',
  'xtuner by xtuner encode_fn, file',
  'xtuner by xtuner encode_fn, file, by load_dataset',
  'dpo by TRL DPOTrainer, file',
  'atif by atif Trajectory, file',
  'verl by verl DataProto, file',
  'prompts by verl RLHFDataset, file',
  'lease by TRL SFTTrainer, body',
  'lease by TRL DPOTrainer, body',
  'lease by TRL GRPOTrainer, body, as rollouts',
  'lease by verl DataProto, body',
  'trl-tokens --layout hf by load_dataset, folder, split train',
  'trl-tokens --layout hf by load_dataset, folder, split test',
  'openai by verl MultiTurnSFTDataset, file',
  'trl-grpo by TRL GRPOTrainer, file, as rollouts of two a group',
  'mined-trl by TRL SFTTrainer, file',
  'mined-trl-tokens by TRL SFTTrainer, file',
  'mined-openai by LLaMA-Factory SupervisedDatasetProcessor, file',
  'mined-openai by verl MultiTurnSFTDataset, file',
  'mined-xtuner by xtuner encode_fn, file',
  'mined-agent-r by load_dataset, file',
  'trl by load_dataset, folder of two runs and mined examples',
];

/** The replies of pairs: those at which a good and a bad rollout part, and what followed. */
const PAIRED = ['look', 'lose', 'takebread', 'leave', 'stay', 'guide'];
const PLAIN = TRAINED.filter((reply) => !BEHIND_CONTEXT.includes(reply));

/** What mined examples train on: the replies of the good trajectory, and the one that turns back from the bad one. */
const GOOD = ['Thought: s\nAction: s', 'Thought: g\nAction: g'];
const MINED = [...GOOD, 'Thought: I was wrong. g\nAction: g'];
/** What the tokenizer of Python makes of a reply; that of the export has a token for signs that it does not know. */
const signs = (text: string) => text.match(/[a-z0-9:]/g)?.length ?? 0;
const signsOf = (replies: readonly string[]) => replies.reduce((sum, reply) => sum + signs(reply) + 1, 0);
const MINED_SAYS: Readonly<Record<string, Trained>> = {
  'mined-trl': { rows: 3, tokens: signsOf(MINED), weight: 3 },
  'mined-trl-tokens': { rows: 2, tokens: tokensOf(MINED), weight: 3 },
  'mined-openai': { rows: 1, tokens: signsOf(GOOD), weight: 2 },
  'mined-xtuner': { rows: 2, tokens: signsOf(MINED), weight: 3 },
  'mined-agent-r': { rows: 2, tokens: signsOf(MINED), weight: 3 },
};

/** What the record says of the file of each of the two runs. */
const RECORDED: Readonly<Record<string, (value: number) => Trained>> = {
  openai: () => ({ rows: 3, tokens: tokensOf(PLAIN), weight: PLAIN.length }),
  sharegpt: () => ({ rows: 3, tokens: tokensOf(PLAIN), weight: PLAIN.length }),
  trl: () => ({ rows: TRAINED.length, tokens: tokensOf(TRAINED), weight: TRAINED.length }),
  'trl-tokens': () => ({ rows: 5, tokens: tokensOf(TRAINED), weight: TRAINED.length }),
  'trl-grpo': (value) => ({ rows: 5, tokens: tokensOf(TRAINED), weight: RETURNS * value }),
  xtuner: () => ({ rows: 5, tokens: tokensOf(TRAINED), weight: TRAINED.length }),
  // the rewards of the second task of the other run differ by less than beta
  dpo: (value) => {
    const replies = value === 1 ? PAIRED : PAIRED.slice(0, 4);
    return { rows: replies.length / 2, tokens: tokensOf(replies), weight: replies.length };
  },
  atif: () => ({ rows: 5, tokens: tokensOf(TRAINED), weight: TRAINED.length }),
  parquet: () => ({ rows: 5, tokens: tokensOf(TRAINED), weight: TRAINED.length }),
  verl: (value) => ({ rows: 5, tokens: tokensOf(TRAINED), weight: RETURNS * value }),
  // a row of the guide's step, too, by its name
  steps: () => ({ rows: TRAINED.length + 1, tokens: tokensOf(TRAINED), weight: TRAINED.length }),
  prompts: () => ({ rows: 2, prompted: promptTokens('Goal: craft bread.') + promptTokens('Goal: craft axe.') }),
};

/**
 * Counts the tokens of a task's first prompt by the talker's template: one for each small letter, digit and colon (it has no
 * other signs), and one that ends each message.
 */
function promptTokens(firstObservation: string): number {
  const messages = promptMessages({ instruction: INSTRUCTION, firstObservation, history: [] });
  return messages.reduce((sum, { role, content }) => sum + signs(`${role}:${content}`) + 1, signs('assistant:'));
}

/** What the record says of what a reader reads. */
function recordSays(format: string, reader: string, read: string): Trained {
  if (format === 'lease') {
    const sampled = 4 * LEASED.length;
    if (reader === 'TRL SFTTrainer') return { rows: LEASED.length, tokens: sampled, weight: 2 * LEASED.length };
    if (reader === 'TRL DPOTrainer') return { rows: 1, tokens: 8, weight: 4 };
    return { rows: LEASED.length, tokens: sampled, weight: LEASED.reduce((sum, value) => sum + value) };
  }
  if (format === 'trl-tokens --layout hf') {
    const replies = TRAINED.filter((reply) => TESTED.includes(reply) === read.endsWith('test'));
    return { rows: read.endsWith('test') ? 2 : 3, tokens: tokensOf(replies), weight: replies.length };
  }
  if (format === 'trl-grpo' && reader === 'TRL GRPOTrainer') {
    const replies = TRAINED.filter((reply) => reply !== 'leave'); // that of the third rollout of its group
    return { rows: 4, tokens: tokensOf(replies), weight: RETURNS };
  }
  const mined = MINED_SAYS[format];
  if (mined) return mined;
  if (read === 'folder of two runs and mined examples')
    return { rows: 2 * TRAINED.length + 3, tokens: 2 * tokensOf(TRAINED) + signsOf(MINED), weight: 2 * TRAINED.length + 3 };
  const said = RECORDED[format];
  if (!said) throw new Error(`${format} by ${reader} has no expectation`);
  const files = read.startsWith('two runs') ? VALUES.map(said) : [said(VALUES[0])];
  const sum = (of: (each: Trained) => number | undefined) =>
    Math.round(1e4 * files.reduce((total, each) => total + (of(each) ?? 0), 0)) / 1e4;
  const rows = sum((each) => each.rows);
  if (format !== 'prompts') return { rows, tokens: sum((each) => each.tokens), weight: sum((each) => each.weight) };
  const truths = reader.startsWith('verl') ? { truths: ['craft axe', 'craft bread'] } : {};
  return { rows, prompted: sum((each) => each.prompted), ...truths };
}

/** What readers call the options that wrote a file. */
const OPTIONS: Readonly<Record<string, string>> = {
  'trl-tokens': 'trl --tokenizer',
  'trl-tokens --layout hf': 'trl --tokenizer --layout hf',
  verl: 'verl --tokenizer',
  prompts: 'verl --data prompts',
  lease: 'leased batch',
  steps: 'verl --layout step',
  'mined-trl': 'trl --data both',
  'mined-trl-tokens': 'trl --data both --tokenizer',
  'mined-openai': 'openai --data both',
  'mined-xtuner': 'xtuner --data both',
  'mined-agent-r': 'agent-r',
};

function evidence(reads: readonly Read[]): string {
  const lineOf = ({ format, reader, version, read, rows, tokens, weight, prompted, truths }: Read) => {
    const trained = prompted === undefined ? tokens : `0 (${prompted} of prompts)`;
    const sum = truths === undefined ? (weight ?? '') : `ground truths ${truths.join(', ')}`;
    return `| \`${OPTIONS[format] ?? format}\` | ${reader} ${version} | ${read} | ${rows} | ${trained} | ${sum} |`;
  };
  return `# Formats and their readers

One record of five trajectories with seven replies that are trained on (${tokensOf(TRAINED)} tokens of a tokenizer of one token per sign, their ends included), two of which follow replies that
are context; and a second one with other rewards. Each file is read by the package that it is written for, and what that trains on is compared with the record.
\`openai\` and \`sharegpt\` leave out what follows context (\`--context drop\`), and their manifests count it: 2 replies.

The table is written by the test that makes it: \`ESPALIER_WRITE_EVIDENCE=1 npm run test:long -- formats-read\`.

Every cell is compared with the record: the number of tokens that are trained on, and the sum of their weights. The weight of a reply is 1, or 0 where it is
context; where a format holds rewards (\`trl-grpo\`, \`verl\`, a leased batch as rollouts), the column has their sum. Trainers count in the batches that their loss is
computed of; readers of tables have their rows counted by the columns that say what is trained on (\`python/tests_consumers/trained.py\`). A leased batch is the
body that the server sends: ${LEASED.length} rollouts of ${4} sampled tokens in two steps each; a pair of it is its best and its worst rollout.
\`--data both\` are examples of a searched tree: a good trajectory of two replies, and a revision whose two bad replies nobody may train on, with the one that turns back
(their texts have signs that the tokenizer does not know: the export has a token for each, transformers leaves them out).

| format | reader | reads | rows | trained tokens | sum of weights |
|---|---|---|---|---|---|
${reads.map(lineOf).join('\n')}
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
