import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { COMPOSE_DEFAULTS, composeRevisions } from '../../../domain/revision/compose-revisions.ts';
import { directTransition, type Transition } from '../../../domain/revision/find-transition.ts';
import { pairPaths } from '../../../domain/revision/pair-paths.ts';
import { anyTree, plant } from '../../../domain/revision/revision-testing.ts';
import type { RowFormat, RowFormatKind } from './row-options.ts';
import { rowBodies } from './shown-bodies.ts';
import type { TrainingRow } from './training-row.ts';

const format = (kind: RowFormatKind): RowFormat => ({ kind, metadata: 'omit', span: 'reply' });

/** Any revision of any tree, its transition somewhere at or behind the branch, the signal in either form. */
const anyRow: fc.Arbitrary<TrainingRow> = fc
  .tuple(anyTree, fc.nat(3), fc.constantFrom('thought', 'turn'), fc.nat(), fc.boolean())
  .map(([tree, at, signal, choice, imported]) => {
    const { pairs, bad } = pairPaths(tree, { alpha: 0.1, beta: 0 });
    const found = bad.map(({ leafStepId, steps }): [string, Transition] => [
      leafStepId,
      { ...directTransition(steps), index: Math.min(at, steps.length - 1), cause: 'bad' },
    ]);
    const options = { ...COMPOSE_DEFAULTS, treeId: 't', seed: 1, signal } as const;
    const { revisions } = composeRevisions(pairs, new Map(found), options);
    const revision = revisions[choice % Math.max(1, revisions.length)];
    const pair = pairs.find(
      ({ good: g, bad: b }) => g.leafStepId === revision?.goodLeafStepId && b.leafStepId === revision.badLeafStepId,
    );
    return revision && pair ? rowOf(pair, revision.turns, imported) : null;
  })
  .filter((row) => row !== null);

function rowOf(pair: ReturnType<typeof pairPaths>['pairs'][number], turns: TrainingRow['turns'], imported: boolean): TrainingRow {
  return {
    kind: 'revision',
    isAltered: false,
    taskId: 'task',
    alias: '7',
    environment: 'textcraft',
    instruction: 'Craft.',
    firstObservation: 'Goal: craft.',
    firstPictures: [],
    pictures: new Map(),
    system: imported ? 'SYS' : null,
    acknowledgement: imported ? 'Ok.' : null,
    turns,
    pair: { good: pair.good.steps, bad: pair.bad.steps, branch: pair.branch },
    feedback: [],
    source: {} as TrainingRow['source'], // bodies hold no metadata
    prompts: new Map(),
    config: null,
    rollouts: { good: 'g', bad: 'b' },
  };
}

type Message = { role: string; content: string; loss?: boolean; weight?: number };
/** Every text of a file with loss, read back as a trainer of that format would. */
const trainedIn: Record<Exclude<RowFormatKind, 'dpo'>, (bodies: readonly object[]) => readonly string[]> = {
  'agent-r': (bodies) =>
    (bodies as { revise_log: Message[] }[]).flatMap((b) => b.revise_log.filter((m) => m.loss === true).map((m) => m.content)),
  xtuner: (bodies) =>
    (bodies as { conversation: { output: string; output_with_loss?: boolean }[] }[]).flatMap((b) =>
      b.conversation.filter((turn) => turn.output_with_loss ?? true).map((turn) => turn.output),
    ),
  sharegpt: (bodies) =>
    (bodies as { conversations: { from: string; loss: boolean | null; value: string }[] }[]).flatMap((b) =>
      b.conversations.filter((turn) => turn.loss === true).map((turn) => turn.value),
    ),
  openai: (bodies) =>
    (bodies as { messages: Message[] }[]).flatMap((b) =>
      b.messages.filter((m) => m.role === 'assistant' && m.weight !== 0).map((m) => m.content),
    ),
  trl: (bodies) => (bodies as { completion: Message[] }[]).flatMap((b) => b.completion.map((m) => m.content)),
};
const FORMATS = Object.keys(trainedIn) as (keyof typeof trainedIn)[];

describe('bodies of training rows', () => {
  test.each(FORMATS)(
    'the loss of %s covers the signal and the good replies after it, never the bad prefix or an observation',
    (kind) => {
      fc.assert(
        fc.property(anyRow, (row) => {
          const expected = row.turns.filter(({ part }) => part !== 'bad').map(({ response }) => response);
          expect(trainedIn[kind](rowBodies(row, format(kind)))).toEqual(expected);
        }),
      );
    },
  );

  test('agent-r masks the failed trajectory next to the revision', () => {
    fc.assert(
      fc.property(anyRow, (row) => {
        const [body] = rowBodies(row, format('agent-r')) as { low_log: Message[]; high_log: Message[] }[];
        expect(body?.low_log.every(({ loss }) => loss !== true)).toBe(true);
        expect(body?.high_log.filter(({ loss }) => loss).map(({ content }) => content)).toEqual(
          row.pair?.good.map(({ response }) => response),
        );
      }),
    );
  });

  test('chosen and rejected of dpo begin behind one prompt and diverge at once, and a reply span contains no observation', () => {
    fc.assert(
      fc.property(anyRow, fc.constantFrom('reply', 'trajectory'), (row, span) => {
        const [body] = rowBodies(row, { ...format('dpo'), span }) as {
          prompt: Message[];
          chosen: Message[];
          rejected: Message[];
        }[];
        const { good = [], bad = [], branch = 0 } = row.pair ?? {};
        expect(body?.prompt).toHaveLength(2 + 2 * branch);
        expect(body?.prompt.at(-1)?.role).toBe('user');
        const recorded = (steps: typeof good) =>
          steps.slice(branch, span === 'reply' ? branch + 1 : undefined).map(({ response }) => response);
        for (const [side, steps] of [
          [body?.chosen, good],
          [body?.rejected, bad],
        ] as const) {
          expect(side?.filter(({ role }) => role === 'assistant').map(({ content }) => content)).toEqual(recorded(steps));
          expect(side?.at(-1)?.role).toBe('assistant');
          if (span === 'reply') expect(side).toHaveLength(1);
        }
        expect([body?.chosen]).not.toEqual([body?.rejected]);
      }),
    );
  });

  test('every chat alternates from the opening on, and an imported one opens as its file did', () => {
    const { pairs } = pairPaths(
      plant([
        { words: 'ab', shared: 0, score: 1 },
        { words: 'ac', shared: 1, score: 0 },
      ]),
      { alpha: 0.5, beta: 0.2 },
    );
    const [pair] = pairs;
    if (!pair) throw new Error('the two form a pair');
    const turns: TrainingRow['turns'] = pair.good.steps.map((step) => ({ part: 'good', ...step, loss: true }));
    const opening = (imported: boolean) =>
      (rowBodies(rowOf(pair, turns, imported), format('agent-r')) as { high_log: Message[] }[])[0]?.high_log.map(
        ({ role }) => role,
      );
    expect(opening(true)).toEqual(['system', 'user', 'assistant', 'user', 'assistant', 'user', 'assistant', 'user']);
    expect(opening(false)).toEqual(['system', 'user', 'assistant', 'user', 'assistant', 'user']);
  });
});
