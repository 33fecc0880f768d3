import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { sha256Hex } from '../../../src/digest/sha256.ts';
import { CorpusError, readCorpus } from '../../../src/environments/retrieval/read-corpus.ts';
import { readQuestions } from '../../../src/environments/search-qa/read-questions.ts';
import { readTasks } from '../../../src/environments/tool-env/read-tasks.ts';
import { ToolError } from '../../../src/environments/tools/tool.ts';
import { decodeWeights, encodeWeights, zeroWeights } from '../../../src/policies/linear/weights.ts';
import { plan } from '../../../src/testing/crashing-run.ts';
import { readPlanFile } from '../../../src/usecases/collect/collect.ts';
import { RunRefused } from '../../../src/usecases/collect/hold-run.ts';
import { ReleaseUnreadable, readReleasedChats } from '../../../src/usecases/train/released-chats.ts';
import { type Change, change, changed, damage, damaged, hostileText, RAW_TEXTS, write } from '../hostile-values.ts';
import { target } from '../target.ts';

const KINDS = ['plan', 'weights', 'tasks', 'questions', 'corpus', 'release'] as const;
type Kind = (typeof KINDS)[number];
interface Given {
  readonly kind: Kind;
  readonly bytes: Buffer;
}

const chat = {
  messages: [
    { role: 'user', content: 'Goal: craft a stick.' },
    { role: 'assistant', content: 'Thought: x\nAction: look', weight: 1 },
  ],
  metadata: { kind: 'good', task: { alias: '7' } },
};
const GOOD: Readonly<Record<Exclude<Kind, 'weights'>, unknown>> = {
  plan: { runId: '01234567-89ab-7def-8123-456789abcdef', name: 'run', seed: 1, plan },
  tasks: {
    id: 't1',
    prompt: [{ role: 'user', content: 'What?' }],
    ground_truth: { target: ['x'] },
    split: 'train',
    extra_info: { split: 'test' },
  },
  questions: { id: 1, question: 'Who?', ground_truth: { target: ['x', 'y'] }, data_source: 'x', split: 'dev' },
  corpus: { id: 'd1', title: 'A title', text: 'Some text.', contents: 'A title\nSome text.' },
  release: chat,
};
const WEIGHTS_HEADER = 16; // bytes
const WEIGHTS = Buffer.from(encodeWeights(zeroWeights()));
const goodOf = (kind: Kind) => (kind === 'weights' ? WEIGHTS : Buffer.from(`${JSON.stringify(GOOD[kind])}\n`));
const changes = (kind: Exclude<Kind, 'weights'>) =>
  fc
    .array(change, { minLength: 1, maxLength: 2 })
    .map((all: readonly Change[]) => write(all.reduce<unknown>(changed, GOOD[kind])));
const harmed = (bytes: fc.Arbitrary<Buffer>) =>
  fc.tuple(bytes, fc.array(damage, { minLength: 1, maxLength: 2 })).map(([whole, harms]) => harms.reduce(damaged, whole));

/** Lines of which some are good, some changed and some none at all, with ends of lines of every kind. */
const lines = (kind: Exclude<Kind, 'weights'>): fc.Arbitrary<Buffer> =>
  fc
    .array(
      fc.tuple(
        fc.oneof(fc.constant(JSON.stringify(GOOD[kind])), changes(kind), fc.constantFrom(...RAW_TEXTS), hostileText),
        fc.constantFrom('\n', '\n', '\n', '\r\n', '\r', '\n\n', '\u2028', '\0', ''),
      ),
      { minLength: 1, maxLength: 12 },
    )
    .map((all) => Buffer.from(all.flat().join('')));

/** Weights with numbers that are none, other headers, and other lengths. */
const weights: fc.Arbitrary<Buffer> = fc
  .record({
    puts: fc.array(fc.tuple(fc.nat(), fc.oneof(fc.double(), fc.constantFrom(Number.NaN, Infinity, -Infinity, -0))), {
      maxLength: 4,
    }),
    header: fc.option(fc.tuple(fc.nat(WEIGHTS_HEADER / 4 - 1), fc.nat(2 ** 32 - 1))),
    length: fc.option(fc.nat(WEIGHTS.length)),
  })
  .map(({ puts, header, length }) => {
    const bytes = Buffer.from(WEIGHTS);
    for (const [at, value] of puts) bytes.writeDoubleLE(value, WEIGHTS_HEADER + 8 * (at % ((bytes.length - WEIGHTS_HEADER) / 8)));
    if (header) bytes.writeUInt32LE(header[1], header[0] * 4);
    return length === null ? bytes : bytes.subarray(0, length);
  });

const of = (kind: Kind): fc.Arbitrary<Buffer> =>
  kind === 'weights'
    ? fc.oneof(weights, harmed(fc.constant(WEIGHTS)))
    : fc.oneof(
        { weight: 3, arbitrary: changes(kind).map((text) => Buffer.from(text)) },
        { weight: 3, arbitrary: lines(kind) },
        { weight: 2, arbitrary: harmed(lines(kind)) },
        { weight: 1, arbitrary: harmed(fc.constant(goodOf(kind))) },
        { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)) },
      );

/** Few of each: most cases are drawn. */
const ALWAYS = [...RAW_TEXTS.filter((text) => text.length > 100_000), '\0', '\ufeff', '__proto__'];

/** Files that commands read: plans, weights, tasks, questions, a corpus, a release to train on. */
export const fileTarget = target<Given>({
  name: 'files',
  always: KINDS.flatMap((kind) =>
    [goodOf(kind), Buffer.alloc(0), ...ALWAYS.map((text) => Buffer.from(text))].map((bytes): Given => ({ kind, bytes })),
  ),
  cases: fc.constantFrom(...KINDS).chain((kind) => of(kind).map((bytes): Given => ({ kind, bytes }))),
  way: {
    process: 'inside',
    async within({ folder }, { kind, bytes }) {
      const file = join(folder, `${kind}.jsonl`);
      await mkdir(folder, { recursive: true });
      await writeFile(file, bytes);
      try {
        await read(kind, file, bytes);
        return { kind: 'accepted', appended: 0 };
      } catch (error) {
        const expected = [RunRefused, ToolError, CorpusError, ReleaseUnreadable].some((refusal) => error instanceof refusal);
        const named = kind === 'weights' && error instanceof RangeError && !/call stack/.test(error.message);
        if (!expected && !named) throw error;
        return { kind: 'refused', code: kind };
      }
    },
  },
});

async function read(kind: Kind, file: string, bytes: Buffer): Promise<unknown> {
  switch (kind) {
    case 'plan':
      return readPlanFile(file);
    case 'weights':
      return decodeWeights(await readFile(file));
    case 'tasks':
      return readTasks(file);
    case 'questions':
      return readQuestions(file);
    case 'corpus':
      return readCorpus(dirname(file));
    case 'release':
      return readReleasedChats(file, sha256Hex(bytes));
    default:
      return kind satisfies never;
  }
}
