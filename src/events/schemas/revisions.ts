import { z } from 'zod';
import { count, eventData, finite, id, remark, scorer, sha256, text, treeId } from './values.ts';

const revisionId = id.describe('UUID of the revision, derived from its tree, leaves, content, judge and thresholds.');

/**
 * The verdict of one `promptHash` holds for every step that asks it, and the same step may be judged again on another trajectory.
 * When the verdict was given before, `causationId` names that judgement.
 */
export const stepJudged = eventData('A judge gave a verdict on a step of a trajectory.', {
  treeId,
  leafStepId: id.describe('UUID of the last step of the trajectory.'),
  stepId: id.describe('UUID of the step that was judged.'),
  index: count.describe('Index of the step on the trajectory, from 0 for the first action.'),
  judge: scorer.describe('Judge that gave the verdict.'),
  promptHash: sha256.describe('SHA-256 of everything that the judge was asked with.'),
  verdict: z
    .enum(['good', 'bad', 'uncertain', 'unparsed'])
    .describe('Verdict on the step; `unparsed` when no verdict could be read from the reply.'),
  reply: text.describe('Whole reply of the judge.'),
});

/**
 * A bad trajectory up to `transitionStepId`, a reflection, and a good one from where the two part (Agent-R). The turns are not
 * stored: `splice` makes them again from the tree and these parameters; `contentHash` says what must come out.
 */
export const revisionComposed = eventData('A revision was composed: a bad trajectory, a reflection, and the end of a good one.', {
  revisionId,
  treeId,
  goodLeafStepId: id.describe('UUID of the last step of the good trajectory.'),
  badLeafStepId: id.describe('UUID of the last step of the bad trajectory.'),
  branchStepId: id.describe(
    'UUID of the last step of the bad trajectory that the good one shares in its texts, at least the root.',
  ),
  transitionStepId: id.describe('UUID of the last step of the bad trajectory that the revision keeps.'),
  transitionCause: z
    .enum(['bad', 'none-bad', 'unparsed', 'direct'])
    .describe('Why the bad prefix ends there: the step is bad, no step is, a reply was unparsed, or no judge was asked.'),
  judged: count.describe('Revision length: number of steps that were judged to find the transition.'),
  reflection: remark.describe('Text of the reflection.'),
  signal: z
    .enum(['thought', 'turn', 'in-form'])
    .describe(
      'Place of the reflection: a turn of its own, or the first good reply, behind `Thought:` or in the form of the reply.',
    ),
  alpha: finite.describe('Threshold alpha: the least score of the good trajectory.'),
  beta: finite.describe('Threshold beta: the least difference between the scores of the good and the bad trajectory.'),
  judge: scorer.describe('Judge of the steps of the bad trajectory.'),
  contentHash: sha256.describe('SHA-256 of the turns of the revision.'),
});

export const revisionVerified = eventData(
  'The actions of a revision were executed, with the recorded observations and enough reward.',
  {
    revisionId,
    treeId,
    reached: finite.describe('Score that the execution reached.'),
    threshold: finite.describe('Least score that the execution had to reach.'),
  },
);

/**
 * `diverged`: its bad prefix, replayed, answered other than recorded; `impossible`: the good steps behind it did, or the episode
 * was over before them; `below`: it reached less than the threshold; `malformed`: the reply that holds the reflection is not in
 * its form.
 */
export const revisionRejected = eventData('A revision was rejected: its execution did not confirm it, or its form is wrong.', {
  revisionId,
  treeId,
  reason: z
    .enum(['diverged', 'impossible', 'below', 'malformed'])
    .describe('Reason: the bad prefix differs, the good steps do, the score is too low, or the reflected reply is malformed.'),
  reached: finite.nullable().describe('Score that the execution reached; null when it stopped before its end.'),
  stepId: id.nullable().describe('UUID of the step at which the revision failed; null when it failed at none.'),
  detail: remark.describe('What was observed.'),
});

/** The name and revision of a judge as one text, as the read models keep it. */
export function judgeText(judge: { readonly name: string; readonly revision: string }): string {
  return `${judge.name}@${judge.revision}`;
}
