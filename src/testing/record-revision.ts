import { revisionContentHash } from '../projections/revisions/revision-content.ts';
import { EventBuilder } from './event-builder.ts';

/** A tree with a shared step, a good and a bad way on, and a revision made of the two whose bad prefix is the whole bad way. */
export function recordRevision(
  fate: 'verified' | 'composed' | 'rejected' | 'none' = 'verified',
  builder = new EventBuilder('rows'),
  name = 'run',
  tampered = false,
) {
  const runId = builder.run(name);
  const tree = builder.tree(runId, 'a');
  const { treeId, rootStepId } = tree;
  const said = (word: string) => ({ response: `Thought: ${word}\nAction: ${word}`, action: word, observation: `saw ${word}` });
  const shared = builder.step(tree, null, rootStepId, 1, said('s'));
  const [good = '', bad = ''] = ['g', 'b'].map((word, ordinal) => {
    const rolloutId = builder.rollout(tree, ordinal, { fromStepId: shared });
    const leaf = builder.step(tree, rolloutId, shared, 2, { ...said(word), termination: 'terminated' });
    builder.reward(tree, leaf, word === 'g' ? 1 : 0, { rolloutId });
    builder.finishRollout(tree, rolloutId, leaf, { success: word === 'g' });
    return leaf;
  });
  const judge = { name: 'planner', revision: '1' };
  const judgements = [shared, bad].map((stepId, index) => {
    const verdict = index === 0 ? 'good' : 'bad';
    const reply = `Judgement: <${index === 0 ? 'Good' : 'Bad'}>`;
    return builder.record(
      'StepJudged',
      { treeId, leafStepId: bad, stepId, index, judge, promptHash: String(index).repeat(64), verdict, reply },
      runId,
    ).id;
  });
  const revisionId = builder.id('revision', runId);
  const turns = [
    { ...said('s'), loss: false },
    { ...said('b'), loss: false },
    { ...said('g'), response: 'Thought: I was wrong. g\nAction: g', loss: true },
  ].map((turn) => ({ part: 'good', stepId: null, ...turn }) as const);
  const opening = { instruction: 'Craft what is asked.', firstObservation: 'Goal: craft a.' };
  const contentHash = revisionContentHash(opening, turns);
  if (fate !== 'none') {
    const leaves = { goodLeafStepId: good, badLeafStepId: bad, branchStepId: shared, transitionStepId: bad };
    const mined = {
      transitionCause: 'bad',
      judged: 2,
      reflection: 'I was wrong.',
      signal: 'thought',
      alpha: 0.5,
      beta: 0.25,
    } as const;
    builder.record(
      'RevisionComposed',
      { revisionId, treeId, ...leaves, ...mined, judge, contentHash: tampered ? 'c'.repeat(64) : contentHash },
      runId,
    );
  }
  if (fate === 'verified') builder.record('RevisionVerified', { revisionId, treeId, reached: 1, threshold: 0.5 }, runId);
  const rejection = { reason: 'impossible', reached: null, stepId: null, detail: '' } as const;
  if (fate === 'rejected') builder.record('RevisionRejected', { revisionId, treeId, ...rejection }, runId);
  builder.closeTree(tree, 2);
  const [opened] = builder.events.filter((event) => event.type === 'TreeOpened' && event.data.treeId === treeId);
  if (opened?.type !== 'TreeOpened') throw new Error('the tree was recorded');
  const { taskId, observationHash } = opened.data.task;
  const place = {
    tree: treeId,
    run: runId,
    task: { id: taskId, alias: 'a', goal: 'craft a', depth: 1, split: '' },
    environment: { name: 'textcraft', fingerprint: 'world-1' },
    policy: { id: 'random', version: 0 },
    ordinal: 0,
    outcome: 'terminated',
    result: 'success',
  };
  const rollouts = [0, 1].map((ordinal) => builder.id('rollout', treeId, ordinal));
  return { builder, place, rollouts, good, bad, judgements, revisionId, observationHash };
}
