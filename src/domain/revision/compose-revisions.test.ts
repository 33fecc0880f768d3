import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { ChatMessage } from '../history/prompt.ts';
import {
  COMPOSE_DEFAULTS,
  type ComposeOptions,
  composeRevisions,
  drawReflection,
  measureRevisions,
  REFLECTIONS,
  type Revision,
} from './compose-revisions.ts';
import type { Transition } from './find-transition.ts';
import { type Pairing, pairPaths } from './pair-paths.ts';
import { anyTree, plant } from './revision-testing.ts';
import { lossMessages, spliceAsPublished } from './splice.ts';
import { THRESHOLD_DEFAULTS } from './thresholds.ts';
import { toXtuner } from './xtuner.ts';

const options: ComposeOptions = { ...COMPOSE_DEFAULTS, treeId: 't', seed: 1 };
const opening: ChatMessage[] = [
  { role: 'system', content: 'SYS' },
  { role: 'user', content: 'INSTRUCTION' },
  { role: 'assistant', content: 'Ok.' },
  { role: 'user', content: 'TASK' },
];

/** Finds an error at any step of each bad trajectory, as a judge of moods might. */
function transitionsOf({ bad }: Pairing, moods: readonly number[]): ReadonlyMap<string, Transition> {
  return new Map(
    bad.map(({ leafStepId, steps }, i) => {
      const index = (moods[i % moods.length] ?? 0) % steps.length;
      return [leafStepId, { index, cause: 'bad', judged: index + 1 }];
    }),
  );
}
const letters = (revision: Revision) =>
  revision.turns.map(({ observation, loss }) => `${observation.replace('obs ', '')}${loss ? '+' : '-'}`).join(' ');

describe('sound revisions', () => {
  const fork = pairPaths(
    plant([
      { words: 'stgh', shared: 0, score: 1 },
      { words: 'stbc', shared: 4, score: 0 },
    ]),
    THRESHOLD_DEFAULTS,
  );

  test('an error after the branch keeps the bad steps up to it, followed by the good steps from the branch', () => {
    const { revisions } = composeRevisions(fork.pairs, transitionsOf(fork, [2]), options);
    expect(revisions.map(letters)).toEqual(['s- t- b- g+ h+']);
    expect(revisions[0]).toMatchObject({ branch: 2, transition: 2, clamped: false, revisionLength: 3, reward: 1, cause: 'bad' });
  });

  test('an error at a shared step moves to the first differing step or drops the pair; as published, the shared steps come twice', () => {
    const early = transitionsOf(fork, [0]);
    const { revisions } = composeRevisions(fork.pairs, early, options);
    expect(revisions.map(letters)).toEqual(['s- t- b- g+ h+']);
    expect(revisions[0]).toMatchObject({ transition: 2, clamped: true, revisionLength: 1 });
    const strict = composeRevisions(fork.pairs, early, { ...options, beforeBranch: 'drop' });
    expect(strict).toEqual({ revisions: [], dropped: [{ pair: fork.pairs[0], reason: 'before-branch' }] });
    const { good, bad } = fork.pairs[0] ?? { good: { steps: [] }, bad: { steps: [] } };
    const published = spliceAsPublished(bad.steps.slice(0, 1), good.steps, 'R');
    expect(published.map(({ observation }) => observation)).toEqual(['obs s', 'ok.', 'obs t', 'obs g', 'obs h']);
  });

  test('the signal becomes a thought of the first good reply, or a turn of its own as published', () => {
    const transitions = transitionsOf(fork, [2]);
    const [thought] = composeRevisions(fork.pairs, transitions, options).revisions;
    const sentence = REFLECTIONS[thought?.reflection ?? -1];
    expect(thought?.turns[3]).toMatchObject({
      part: 'signal',
      response: `Thought: ${sentence} think g\nAction: act g`,
      observation: 'obs g',
    });
    const [turn] = composeRevisions(fork.pairs, transitions, { ...options, signal: 'turn' }).revisions;
    expect(turn?.turns[3]).toEqual({
      part: 'signal',
      stepId: null,
      response: `Thought: ${sentence}\nAction: wait`,
      observation: 'ok.',
      loss: true,
    });
  });

  test('a pair is dropped with the reason when its judge is unreadable or missing', () => {
    const [bad = ''] = fork.bad.map(({ leafStepId }) => leafStepId);
    const unparsed = new Map<string, Transition>([[bad, { index: 0, cause: 'unparsed', judged: 1 }]]);
    expect(composeRevisions(fork.pairs, unparsed, options).dropped).toEqual([{ pair: fork.pairs[0], reason: 'unparsed' }]);
    expect(composeRevisions(fork.pairs, new Map(), options).dropped).toEqual([{ pair: fork.pairs[0], reason: 'not-judged' }]);
  });

  test('bad trajectories that diverge after their error yield one revision', () => {
    const tree = plant([
      { words: 'g', shared: 0, score: 1 },
      { words: 'bx', shared: 0, score: 0 },
      { words: 'by', shared: 2, score: 0 },
    ]);
    const pairing = pairPaths(tree, THRESHOLD_DEFAULTS);
    const { revisions, dropped } = composeRevisions(pairing.pairs, transitionsOf(pairing, [0]), options);
    expect(revisions.map(letters)).toEqual(['b- g+']);
    expect(dropped.map(({ reason }) => reason)).toEqual(['duplicate']);
  });

  const signal = fc.constantFrom('turn' as const, 'thought' as const);
  const beforeBranch = fc.constantFrom('clamp' as const, 'drop' as const);
  const moods = fc.array(fc.nat(3), { minLength: 1, maxLength: 5 });

  test('every pair of any tree becomes a revision or is dropped with a reason, and no transition lies before the branch', () => {
    fc.assert(
      fc.property(anyTree, moods, signal, beforeBranch, (tree, mood, form, rule) => {
        const pairing = pairPaths(tree, { alpha: 0.25, beta: 0.125 });
        const given = { ...options, signal: form, beforeBranch: rule };
        const { revisions, dropped } = composeRevisions(pairing.pairs, transitionsOf(pairing, mood), given);
        expect(revisions.length + dropped.length).toBe(pairing.pairs.length);
        expect(dropped.every(({ reason }) => reason === 'duplicate' || (rule === 'drop' && reason === 'before-branch'))).toBe(
          true,
        );
        for (const { transition, branch } of revisions) expect(transition).toBeGreaterThanOrEqual(branch);
        expect(new Set(revisions.map((revision) => `${letters(revision)}${revision.transition}`)).size).toBe(revisions.length);
      }),
    );
  });

  test('any revision trains on nothing of the bad trajectory and on all of the good one after the branch', () => {
    fc.assert(
      fc.property(anyTree, moods, signal, (tree, mood, form) => {
        const pairing = pairPaths(tree, { alpha: 0.25, beta: 0.125 });
        for (const revision of composeRevisions(pairing.pairs, transitionsOf(pairing, mood), { ...options, signal: form })
          .revisions) {
          const pair = pairing.pairs.find(
            ({ good, bad }) => good.leafStepId === revision.goodLeafStepId && bad.leafStepId === revision.badLeafStepId,
          );
          const bad = new Set(pair?.bad.steps.map(({ stepId }) => stepId));
          const trained = revision.turns.filter(({ loss }) => loss).flatMap(({ stepId }) => (stepId === null ? [] : [stepId]));
          expect(trained.filter((stepId) => bad.has(stepId))).toEqual([]);
          expect(trained).toEqual(pair?.good.steps.slice(revision.branch).map(({ stepId }) => stepId));
          if (form === 'thought') expect(revision.turns.every(({ stepId }) => stepId !== null)).toBe(true);
        }
      }),
    );
  });

  test('xtuner trains on exactly the marked replies of any revision, in order', () => {
    fc.assert(
      fc.property(anyTree, moods, signal, (tree, mood, form) => {
        const pairing = pairPaths(tree, { alpha: 0.25, beta: 0.125 });
        for (const { turns } of composeRevisions(pairing.pairs, transitionsOf(pairing, mood), { ...options, signal: form })
          .revisions) {
          const { conversation } = toXtuner(lossMessages(opening, turns), 'keep');
          const trained = conversation.filter((turn) => turn.output_with_loss !== false).map(({ output }) => output);
          expect(trained).toEqual(turns.filter(({ loss }) => loss).map(({ response }) => response));
          expect(conversation[0]).toEqual({ system: 'SYS', input: 'INSTRUCTION', output: 'Ok.', output_with_loss: false });
          expect(conversation).toHaveLength(1 + turns.length);
        }
      }),
    );
  });
});

describe('reflections', () => {
  test('there are twenty distinct reflections of one line each', () => {
    expect(new Set(REFLECTIONS).size).toBe(20);
    for (const sentence of REFLECTIONS) expect(sentence).toMatch(/^\S.*\.$/);
  });

  test('a draw depends on seed, tree and leaves, and reaches all twenty', () => {
    const draw = (i: number) => drawReflection(1, { treeId: 't', goodLeafStepId: 'g', badLeafStepId: String(i) });
    const drawn = Array.from({ length: 400 }, (_, i) => draw(i));
    expect(drawn).toEqual(Array.from({ length: 400 }, (_, i) => draw(i)));
    expect(new Set(drawn).size).toBe(20);
  });
});

test('the metrics average the revision length of judged revisions only, and count causes and clamps', () => {
  const revision = (cause: Revision['cause'], revisionLength: number, transition: number, clamped: boolean): Revision => ({
    goodLeafStepId: 'g',
    badLeafStepId: 'b',
    branch: 0,
    transition,
    cause,
    clamped,
    revisionLength,
    reflection: 0,
    signal: 'thought',
    reward: 1,
    turns: [],
  });
  const recorded = [
    revision('bad', 1, 2, true),
    revision('bad', 3, 2, false),
    revision('direct', 0, 4, false),
    revision('none-bad', 5, 4, false),
  ];
  expect(measureRevisions(recorded)).toEqual({
    revisions: 4,
    meanRevisionLength: 3,
    revisionLengths: new Map([
      [1, 1],
      [3, 1],
      [5, 1],
    ]),
    meanBadSteps: 4,
    causes: { bad: 2, 'none-bad': 1, unparsed: 0, direct: 1 },
    clamped: 1,
  });
  expect(measureRevisions([])).toMatchObject({ revisions: 0, meanRevisionLength: null, meanBadSteps: null });
});
