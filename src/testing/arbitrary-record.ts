import fc from 'fast-check';
import { AMOUNT_LIMIT } from '../domain/reward/amount.ts';
import type { Envelope } from '../events/envelope.ts';
import { pack } from '../events/packed.ts';
import { EventBuilder } from './event-builder.ts';

/** Text as models and environments give it: any well-formed string without NUL, now and then longer than what stays inline. */
const text = fc.oneof(
  { weight: 20, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }).map((s) => s.replaceAll('\0', '0')) },
  { weight: 1, arbitrary: fc.string({ minLength: 1, maxLength: 4 }).map((s) => s.repeat(70_000).toWellFormed()) },
);

const amount = fc.double({ noNaN: true, min: -AMOUNT_LIMIT, max: AMOUNT_LIMIT });

const tree = fc.record({
  parents: fc.array(fc.nat(), { maxLength: 10 }),
  rollouts: fc.array(fc.record({ from: fc.nat(), open: fc.boolean(), success: fc.option(fc.boolean()) }), {
    minLength: 1,
    maxLength: 4,
  }),
  texts: fc.array(text, { minLength: 3, maxLength: 3 }),
  rewards: fc.array(fc.record({ at: fc.nat(), value: amount, revised: fc.boolean() }), {
    maxLength: 4,
  }),
  closed: fc.boolean(),
});

/** Builds records for property tests: runs with bushy trees of every kind of event. The seed keeps ids of two records apart. */
export const arbitraryRecord: fc.Arbitrary<readonly Envelope[]> = fc
  .record({ seed: fc.nat(), runs: fc.array(fc.array(tree, { maxLength: 3 }), { minLength: 1, maxLength: 2 }) })
  .map(({ seed, runs }) => {
    const builder = new EventBuilder(`record ${seed}`);
    for (const [r, trees] of runs.entries()) {
      const runId = builder.run(`run ${r}`, { config: { nested: [r, { a: null }], acknowledgement: 'Yes.' } });
      for (const [t, shape] of trees.entries()) recordTree(builder, runId, `${t}`, shape);
      builder.finishRun(runId, { trees: trees.length });
    }
    return builder.events;
  });

type Shape = typeof tree extends fc.Arbitrary<infer T> ? T : never;

function recordTree(
  builder: EventBuilder,
  runId: string,
  name: string,
  { parents, rollouts, texts, rewards, closed }: Shape,
): void {
  const pick = (i: number) => texts[i % texts.length] ?? '';
  const opened = builder.tree(runId, name, { instruction: pick(0), observation: pick(1) });
  const steps = [{ id: opened.rootStepId, depth: 0, owner: '' }];
  const walks = rollouts.map((rollout, i) => ({ ...rollout, id: builder.rollout(opened, i) }));
  for (const [i, at] of parents.entries()) {
    const parent = steps[at % steps.length];
    const walk = walks[at % walks.length];
    if (!parent || !walk) continue;
    const id = builder.step(opened, at % 7 === 0 ? null : walk.id, parent.id, parent.depth + 1, {
      response: pick(i),
      observation: pick(i + 1),
      tokens:
        i % 3 === 0 ? { ids: pack('int32', [i, -1, at % 1_000]), logProbs: pack('float32', [0.5, -2, 0]), mask: null } : null,
    });
    steps.push({ id, depth: parent.depth + 1, owner: at % 7 === 0 ? '' : walk.id });
    const path = [opened.rootStepId, id];
    if (i % 4 === 0)
      builder.record('ValueBackedUp', { treeId: opened.treeId, simulation: i, leafStepId: id, value: 0.5, path }, runId);
    if (i % 5 === 0)
      builder.record(
        'ToolCalled',
        {
          toolCallId: builder.id('tool', id),
          treeId: opened.treeId,
          stepId: id,
          ordinal: 0,
          tool: 'search',
          arguments: pick(i),
          output: pick(i + 2),
          outcome: 'ok',
          durationMs: 1.5,
        },
        runId,
      );
  }
  for (const { at, value, revised } of rewards) {
    const step = steps[at % steps.length];
    const walk = walks[at % walks.length];
    const onRollout = at % 3 === 0;
    const rewardId = builder.reward(opened, onRollout ? null : (step?.id ?? null), value, {
      rolloutId: onRollout ? (walk?.id ?? null) : null,
    });
    const scorer = { name: 'judge', revision: '2' };
    if (revised)
      builder.record('RewardRevised', { rewardId, treeId: opened.treeId, value: value / 2, scorer, reason: 'seen again' }, runId);
  }
  for (const { id, open, from, success } of walks) {
    const own = steps.filter(({ depth, owner }) => depth === 0 || owner === id); // the root, or a step that it took
    const leaf = own[from % own.length];
    if (!open && leaf) builder.finishRollout(opened, id, leaf.id, { success });
  }
  if (closed) builder.closeTree(opened, rollouts.length);
}
