import { z } from 'zod';
import { count, finite, id, scorer, sha256, text } from './values.ts';

/**
 * A judge said something of a step. `index` is the place of the step on the trajectory that ends at `leafStepId`, from 0: the same step may be
 * judged again on another one. `promptHash` is the SHA-256 of all that the judge was told; the verdict of one hash holds for every
 * step that asks it. When it was given before, `causationId` names that judgement.
 */
export const stepJudged = z.strictObject({
  treeId: id,
  leafStepId: id,
  stepId: id,
  index: count,
  judge: scorer,
  promptHash: sha256,
  verdict: z.enum(['good', 'bad', 'uncertain', 'unparsed']),
  reply: text,
});

/**
 * A bad trajectory up to `transitionStepId`, a reflection, and a good one from where the two part were made one (Agent-R). `branchStepId` is the last
 * step of the bad trajectory that both share in their words, the root at least. The turns are not stored: `splice` makes them again from
 * the tree and these parameters; `contentHash` says what must come out. `signal`: the reflection is a turn of its own, or begins the thought of the first good
 * reply, by that reply's own form (`in-form`) or behind the label `Thought:` (`thought`). `judged` is the revision length: steps looked at.
 */
export const revisionComposed = z.strictObject({
  revisionId: id,
  treeId: id,
  goodLeafStepId: id,
  badLeafStepId: id,
  branchStepId: id,
  transitionStepId: id,
  transitionCause: z.enum(['bad', 'none-bad', 'unparsed', 'direct']),
  judged: count,
  reflection: z.string().max(10_000),
  signal: z.enum(['thought', 'turn', 'in-form']),
  alpha: finite,
  beta: finite,
  judge: scorer,
  contentHash: sha256,
});

/** The actions of a revision were executed from the start, every observation was the recorded one, and `reached` is not below `threshold`. */
export const revisionVerified = z.strictObject({
  revisionId: id,
  treeId: id,
  reached: finite,
  threshold: finite,
});

/**
 * A revision does not hold. `diverged`: its bad prefix, replayed, answered other than recorded; `impossible`: the good steps behind it did, or the
 * episode was over before them; `below`: it reached less than the threshold; `malformed`: the reply that holds the reflection is not in its form. `stepId` is where, `detail` what was seen.
 */
export const revisionRejected = z.strictObject({
  revisionId: id,
  treeId: id,
  reason: z.enum(['diverged', 'impossible', 'below', 'malformed']),
  reached: finite.nullable(),
  stepId: id.nullable(),
  detail: z.string().max(10_000),
});

/** The name and revision of a judge as one text, as the read models keep it. */
export function judgeText(judge: { readonly name: string; readonly revision: string }): string {
  return `${judge.name}@${judge.revision}`;
}
