import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { CorpusError, readCorpus } from '../../../src/environments/retrieval/read-corpus.ts';
import { readQuestions } from '../../../src/environments/search-qa/read-questions.ts';
import { readTasks } from '../../../src/environments/tool-env/read-tasks.ts';
import { ToolError } from '../../../src/environments/tools/tool.ts';
import { RunRefused, readPlanFile } from '../../../src/platform/collect-into.ts';
import { decodeWeights, encodeWeights, zeroWeights } from '../../../src/policies/linear/weights.ts';
import { plan } from '../../../src/testing/crashing-run.ts';
import { ReleaseUnreadable, readReleasedChats } from '../../../src/training/released-chats.ts';
import { door } from '../door.ts';
import { type Change, change, changed, damage, damaged, RAW_TEXTS, TEXTS, write } from '../hostile-values.ts';

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
const WEIGHTS = Buffer.from(encodeWeights(zeroWeights()));
const goodOf = (kind: Kind) => (kind === 'weights' ? WEIGHTS : Buffer.from(`${JSON.stringify(GOOD[kind])}\n`));
const of = (kind: Kind) =>
  fc.oneof(
    ...(kind === 'weights'
      ? []
      : [
          fc
            .array(change, { minLength: 1, maxLength: 2 })
            .map((all: readonly Change[]) => Buffer.from(write(all.reduce<unknown>(changed, GOOD[kind])))),
        ]),
    fc.array(damage, { minLength: 1, maxLength: 2 }).map((harms) => harms.reduce(damaged, goodOf(kind))),
  );

/** Files that commands read: plans, weights, tasks, questions, a corpus, a release to train on. */
export const fileDoor = door<Given>({
  name: 'files',
  always: KINDS.flatMap((kind) =>
    [goodOf(kind), ...[...RAW_TEXTS, ...TEXTS].map((text) => Buffer.from(text))].map((bytes): Given => ({ kind, bytes })),
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
      return readReleasedChats(file, createHash('sha256').update(bytes).digest('hex'));
    default:
      return kind satisfies never;
  }
}
