import { access, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { ZodError } from 'zod';
import { createAppender } from '../../src/append/appender.ts';
import { EventRefused } from '../../src/append/prepare-events.ts';
import { sha256Hex } from '../../src/digest/sha256.ts';
import { TOOL_PROFILES } from '../../src/domain/tools/plan-turn.ts';
import { CorpusError, readCorpus } from '../../src/environments/retrieval/read-corpus.ts';
import { readQuestions } from '../../src/environments/search-qa/read-questions.ts';
import { answerTurn } from '../../src/environments/tool-env/answer-turn.ts';
import { readTasks } from '../../src/environments/tool-env/read-tasks.ts';
import { calculator } from '../../src/environments/tools/calculator.ts';
import { type Tool, ToolError } from '../../src/environments/tools/tool.ts';
import { openToolbox } from '../../src/environments/tools/toolbox.ts';
import { DEFAULT_STAMP } from '../../src/events/envelope.ts';
import { HistoryRenderer } from '../../src/images/history-renderer.ts';
import { RenderRefused } from '../../src/images/history-sizes.ts';
import { encodePng } from '../../src/images/png.ts';
import { splitSegments } from '../../src/images/prepare-text.ts';
import { renderSpec } from '../../src/images/render-profiles.ts';
import { parseRenderSpec, RENDER_PROFILES } from '../../src/images/render-spec.ts';
import { openPlatform, type Platform } from '../../src/platform/open-platform.ts';
import { decodeWeights, encodeWeights, zeroWeights } from '../../src/policies/linear/weights.ts';
import { readConfig } from '../../src/runtime/config.ts';
import { plan } from '../../src/testing/crashing-run.ts';
import { EventBuilder } from '../../src/testing/event-builder.ts';
import { readPlanFile } from '../../src/usecases/collect/collect.ts';
import { RunRefused } from '../../src/usecases/collect/hold-run.ts';
import { DatasetError } from '../../src/usecases/datasets/dataset-error.ts';
import { HEADER } from '../../src/usecases/datasets/event-line.ts';
import { agentTrajDefaults } from '../../src/usecases/datasets/import/agent-traj-options.ts';
import { importTrajectories } from '../../src/usecases/datasets/import/import-trajectories.ts';
import { prepareDataset } from '../../src/usecases/datasets/prepare/prepare-dataset.ts';
import { RECIPES } from '../../src/usecases/datasets/prepare/recipes.ts';
import { ExperimentRefused } from '../../src/usecases/experiment/declaration/experiment.ts';
import { readExperimentFile } from '../../src/usecases/experiment/declaration/parse-experiment.ts';
import { ReleaseUnreadable, readReleasedChats } from '../../src/usecases/train/clone-release.ts';
import { parseDeclaration } from '../../src/usecases/train/declaration/parse-declaration.ts';
import { edited, edits } from './edits.ts';

/** What reads files and replies that others wrote, with good input to begin with. */
export interface Reader {
  readonly name: string;
  readonly samples: readonly Sample[];
  /** Reads a file. @throws an error of `refusals` when it refuses the file; any other error is a fault. */
  readonly read: (file: string, bytes: Buffer, world: World) => Promise<unknown>;
  readonly refusals: readonly (abstract new (...args: never[]) => Error)[];
}
interface Sample {
  readonly file: string;
  readonly bytes: Buffer;
}
export interface World {
  readonly platform: Platform;
  /** Emptied after each case. */
  readonly folder: string;
}

const DATASETS = fileURLToPath(new URL('../../src/usecases/datasets/', import.meta.url));
const json = (...rows: readonly unknown[]) => Buffer.from(`${rows.map((row) => JSON.stringify(row)).join('\n')}\n`);
const sample = (file: string, ...rows: readonly unknown[]): Sample => ({ file, bytes: json(...rows) });
const messages = [
  { role: 'user', content: 'Goal: craft a stick.' },
  { role: 'assistant', content: 'Thought: x\nAction: look', weight: 1 },
];
const builder = new EventBuilder('imported');
builder.walk(builder.tree(builder.run()), 0, 2, 1);

/** Every reader that is tried. */
async function openReaders(): Promise<readonly Reader[]> {
  return [
    {
      name: 'import',
      samples: [
        sample('events.jsonl', HEADER, ...builder.events, { end: { events: builder.events.length } }),
        sample('item.jsonl', {
          item_id: 'textcraft_7',
          conversations: [
            { from: 'human', loss: null, value: 'Goal: craft a stick.' },
            { from: 'gpt', loss: true, value: 'Thought: x\nAction: get stick' },
          ],
          reward: 1,
          success: 1,
        }),
        sample('chats.jsonl', { messages, metadata: { kind: 'good' } }),
        sample('atif.json', {
          schema_version: 'ATIF-v1.4',
          session_id: 's',
          agent: { name: 'terminus', version: '2', model_name: 'm' },
          steps: [
            { step_id: 1, source: 'user', message: 'List files.' },
            { step_id: 2, source: 'agent', message: 'I look.', metrics: { prompt_tokens: 9, logprobs: [-1] } },
          ],
        }),
        sample('verifiers.jsonl', { prompt: messages.slice(0, 1), completion: messages.slice(1), reward: 1, answer: '' }),
        { file: 'chats.parquet', bytes: parquet({ messages: [messages, messages] }) },
        await fixture('import/fixtures/search_results_7.json'),
      ],
      read: importFile,
      refusals: [DatasetError, EventRefused],
    },
    ...(await preparations()),
    reader('plan', readPlanFile, [RunRefused], { runId: builder.id('run'), name: 'run', seed: 1, plan }),
    reader('tasks', readTasks, [ToolError], {
      id: 't',
      prompt: messages.slice(0, 1),
      ground_truth: { target: ['x'] },
      split: 'dev',
    }),
    reader('questions', readQuestions, [CorpusError], { id: 1, question: 'Who?', ground_truth: { target: ['x'] }, split: 'dev' }),
    reader('corpus', (file) => readCorpus(dirname(file)), [CorpusError], { id: 'd1', title: 'A', text: 'B', contents: 'A\nB' }),
    reader('release', (file, bytes) => readReleasedChats(file, sha256Hex(bytes)), [ReleaseUnreadable], {
      messages,
      metadata: { kind: 'good', task: { alias: '7' } },
    }),
    reader('experiment', readExperimentFile, [ExperimentRefused], { name: 'x', seed: 1, stages: { collect: { plan } } }),
    reader('declaration', readDeclaration, [SyntaxError], { estimator: { name: 'grpo', options: {} }, seed: 1 }),
    {
      name: 'weights',
      samples: [{ file: 'weights.bin', bytes: Buffer.from(encodeWeights(zeroWeights())) }],
      read: async (_, bytes) => decodeWeights(bytes),
      refusals: [RangeError],
    },
    {
      name: 'reply of a model',
      samples: ['calculator', 'python', 'none'].map((name) => reply({ name, arguments: { expression: '(1 + 2) * sqrt(3)' } })),
      read: runTools,
      refusals: [],
    },
    reader(
      'picture',
      drawText,
      [RenderRefused, ZodError, SyntaxError],
      ...RENDER_PROFILES.map((profile) => ({ text: '[Observation]: a\n[Action]: go', factor: 1.5, spec: renderSpec(profile) })),
    ),
  ];
}

function reader(name: string, read: Reader['read'], refusals: Reader['refusals'], ...rows: readonly unknown[]): Reader {
  return { name, read, refusals, samples: rows.map((row) => sample(`${name}.jsonl`, row)) };
}

async function fixture(path: string): Promise<Sample> {
  return { file: basename(path), bytes: await readFile(join(DATASETS, path)) };
}

function parquet(columns: Readonly<Record<string, readonly unknown[]>>): Buffer {
  const columnData = Object.entries(columns).map(([name, data]) => ({ name, data: [...data] }));
  return Buffer.from(parquetWriteBuffer({ columnData }));
}

/** A file that says that its pages are a few bytes long, which inflate to 512 MB. */
function inflating(): Buffer {
  const zeros = gzipSync(Buffer.alloc(512 * 2 ** 20), { level: 1 });
  const columnData = ['question', 'answer'].map((name) => ({ name, data: ['x', 'y', 'z'] }));
  return Buffer.from(parquetWriteBuffer({ columnData, codec: 'GZIP', compressors: { GZIP: () => zeros } }));
}

async function importFile(file: string, _: Buffer, { platform }: World): Promise<unknown> {
  const { log, blobs, database } = platform;
  const producer = { name: 'importer', version: '1' };
  const appender = createAppender({ log, blobs, stamp: DEFAULT_STAMP, producer, clock: () => 0 });
  return importTrajectories({
    source: file,
    form: 'detect',
    db: database.db,
    appender,
    blobs,
    badRows: 'refuse',
    agentTraj: { ...agentTrajDefaults, environment: 'textcraft' },
    signal: AbortSignal.timeout(60_000),
    onProgress: () => undefined,
  });
}

/** `espalier prepare`, by the recipe whose fixtures these are: the folder appears whole or not at all. */
async function preparations(): Promise<readonly Reader[]> {
  const folder = join(DATASETS, 'prepare/fixtures');
  const files = (await readdir(folder, { recursive: true })).filter((name) => /\.(jsonl?|parquet)$/.test(name)).sort();
  return Promise.all(
    Object.entries(RECIPES).map(async ([name, recipe]): Promise<Reader> => {
      const own = files.filter((file) => file.split('/')[0]?.replace('-parquet', '') === name);
      return {
        name: `prepare ${name}`,
        samples: [
          ...(await Promise.all(own.map((file) => fixture(`prepare/fixtures/${file}`)))),
          { file: 'train.parquet', bytes: inflating() },
        ],
        async read(from, bytes) {
          const out = join(dirname(from), 'out');
          const options = { existing: 'refuse', seed: 1, train: null, test: null, instruction: null, codeVersion: 'x' } as const;
          const malformed = bytes.length % 2 === 0 ? 'refuse' : 'skip';
          const signal = AbortSignal.timeout(60_000);
          await prepareDataset({ ...options, recipe, from, out, malformed, signal, onRow: () => undefined }).catch(
            async (error: unknown) => {
              const left = (await readdir(dirname(from))).filter((each) => each !== basename(from));
              throw left.length > 0 ? new Error(`refused, and left ${left.join(', ')}`, { cause: error }) : error;
            },
          );
          await access(join(out, 'manifest.json'));
        },
        refusals: [DatasetError],
      };
    }),
  );
}

async function readDeclaration(_: string, bytes: Buffer): Promise<unknown> {
  return parseDeclaration(JSON.parse(bytes.toString()));
}

function reply(call: object): Sample {
  return { file: 'reply.txt', bytes: Buffer.from(`<think>x</think>\n<tool_call>\n${JSON.stringify(call)}\n</tool_call>`) };
}

const python: Tool = {
  name: 'python',
  description: 'Takes what its schema says.',
  parameters: {
    type: 'object',
    properties: { expression: { type: 'string', pattern: '^(a+)+$' }, list: { type: 'array', uniqueItems: true } },
    additionalProperties: false,
  },
  execute: ({ expression }) => String(expression),
};

/** Reads a reply, checks its calls and runs them, in every profile. */
async function runTools(_: string, bytes: Buffer): Promise<void> {
  for (const profile of TOOL_PROFILES) {
    const toolbox = openToolbox([calculator(), python], profile === 'seed' ? 'seed' : 'full');
    const limits = { timeoutMs: 5_000, signal: AbortSignal.timeout(60_000), clock: () => 0 };
    const turn = await answerTurn({ profile, parallel: true, paysCalls: true, toolbox }, bytes.toString(), limits);
    if (turn.results.some((result) => typeof result !== 'string')) throw new Error('a result is no string');
    if (turn.reward !== null && !Number.isFinite(turn.reward)) throw new Error(`the reward is ${turn.reward}`);
    if (turn.calls.length > 40) throw new Error(`${turn.calls.length} calls are recorded`);
  }
}

const MOST_PIXELS = 2_200 * 210_000; // the widest spec and the tallest, with its border

/** Draws text under a spec, as it is read from the record. */
async function drawText(_: string, bytes: Buffer): Promise<void> {
  const row = JSON.parse(bytes.toString()) as { text: unknown; factor: unknown; spec: unknown } | null; // read by field
  const spec = parseRenderSpec(row?.spec);
  const segments = splitSegments(String(row?.text), spec);
  const options = segments.length > 0 ? {} : ({ empty: 'blank' } as const);
  const { image } = new HistoryRenderer(spec).render({ segments, factor: Number(row?.factor), ...options });
  if (image.width * image.height > MOST_PIXELS) throw new Error(`drew ${image.width} × ${image.height}`);
  if ((await encodePng(image)).byteLength === 0) throw new Error('drew nothing');
}

/**
 * Gives edited files to readers, in a process of its own: it may hang, run out of memory or die, and the campaign sees that. The
 * case in progress is described in a file. Prints the number of cases, and the fault if there is one, as JSON.
 */
const [seed = '1', limitMs = '1000', caseFile = ''] = process.argv.slice(2);
const platform = await openPlatform(readConfig(), 'readers');
const folder = join(platform.config.home, 'hostile');
const readers = await openReaders();
const samples = readers.flatMap((reader) =>
  reader.samples.map((sample) => ({ name: `${reader.name} ${sample.file}`, reader, sample })),
);
const cases = fc.record({ name: fc.constantFrom(...samples.map(({ name }) => name)), edits });

const property = fc.asyncProperty(cases, async ({ name, edits: all }) => {
  const { reader, sample } = samples.find((each) => each.name === name) ?? fail(name);
  const bytes = edited(sample.bytes, all);
  await writeFile(caseFile, `${name}: ${JSON.stringify(all).slice(0, 1_000)}`);
  await mkdir(folder, { recursive: true });
  const file = join(folder, sample.file);
  await writeFile(file, bytes);
  try {
    await reader.read(file, bytes, { platform, folder });
  } catch (error) {
    const refused = reader.refusals.some((refusal) => error instanceof refusal) && !/call stack/.test(String(error));
    // any other error is a stack in place of a reason
    if (!refused) throw new Error(`${name} threw ${error instanceof Error ? error.stack : error}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
const report = await fc.check(property, {
  seed: Number(seed),
  numRuns: 1_000_000,
  interruptAfterTimeLimit: Number(limitMs),
  markInterruptAsFailure: false,
});
const fault = report.failed ? `${report.errorInstance}; case ${fc.stringify(report.counterexample).slice(0, 1_000)}` : null;
process.stdout.write(`${JSON.stringify({ cases: report.numRuns, fault })}\n`);
await platform.close();

function fail(name: string): never {
  throw new Error(`there is no sample ${name}`);
}
