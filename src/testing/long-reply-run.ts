import { EventBuilder } from './event-builder.ts';

/** Builds a finished run of one tree, in which a text is seen and the reply that repeats it is so long that it becomes a blob. */
export function longReplyRun(name: string, text: string) {
  const builder = new EventBuilder(name);
  const runId = builder.run(name);
  const tree = builder.tree(runId, name, { instruction: text, observation: text });
  const rolloutId = builder.rollout(tree);
  const stepId = builder.step(tree, rolloutId, tree.rootStepId, 1, { response: `${name}: ${text} `.repeat(4_000), action: text });
  builder.reward(tree, stepId, 1, { rolloutId });
  builder.finishRollout(tree, rolloutId, stepId, { steps: 1, success: true });
  builder.closeTree(tree, 1);
  builder.record('RunFinished', { runId, outcome: 'completed', message: 'ended', trees: 1, rollouts: 1, steps: 1 }, runId);
  return { events: [...builder.events], runId, treeId: tree.treeId };
}
