import type { Draft } from '../../append/appender.ts';
import { catalogue } from '../../events/catalogue.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { Db } from '../../postgres/database.ts';
import type { Principal } from '../../postgres/principal.ts';
import { locateSubjects } from '../../projections/annotations/locate-subjects.ts';
import { readAnnotationsById, readStandingOfRow } from '../../projections/annotations/read-annotations.ts';
import type { OfTree } from '../../projections/of-tree.ts';
import { locateRewarded } from '../../projections/rewards/locate-rewarded.ts';

/** What somebody found of a step, a rollout or a row after it was recorded. */
export interface NewFeedback {
  /** A step, a rollout, the id that a model server gave a reply, or that of a trace; or a row of a release. */
  readonly of: string | { readonly datasetId: string; readonly line: number };
  /** The tree of it, where several have one under its id. */
  readonly inTree?: string;
  readonly value: number;
  readonly component: string;
  /** Who says it: `person:`, `program:` or `judge:` with a name, and `@REVISION`. */
  readonly by: string;
  readonly comment: string;
}

/** An input that cannot be recorded, in words. */
export class FeedbackRefused extends Error {
  readonly code: 'unknown' | 'invalid';
  constructor(code: 'unknown' | 'invalid', message: string) {
    super(`${message}; nothing was recorded`);
    this.code = code;
  }
}

/**
 * Returns the events by which feedback is recorded, and what they are of. Of a step or a rollout it is a reward of the component,
 * or a revision of the one in force, whoever assigned that; of a row it is an annotation with the component as label, which takes
 * the place of the caller's earlier one. A comment is a note next to it. What says again what is in force adds nothing.
 * @throws FeedbackRefused, AmbiguousId.
 */
export async function feedbackDrafts(
  db: Db,
  given: readonly NewFeedback[],
  principal: Principal,
): Promise<{ readonly drafts: readonly Draft[]; readonly of: readonly OfTree[] }> {
  const drafts: Draft[] = [];
  const of: OfTree[] = [];
  const named = new Set<string>();
  for (const each of given) {
    const made = typeof each.of === 'string' ? await ofRollout(db, each, each.of) : await ofRow(db, each, each.of, principal);
    // of a row the annotation follows from what is said
    const { treeId, id } = made.of;
    const key = JSON.stringify(
      typeof each.of === 'string' ? [treeId, id] : [each.of.datasetId.toLowerCase(), each.of.line, each.component],
    );
    if (named.has(key)) throw new FeedbackRefused('invalid', `${nameOf(each)} has two values of component ${each.component}`);
    named.add(key);
    for (const each of made.drafts) drafts.push(each);
    of.push(made.of);
  }
  for (const { type, data } of drafts) {
    const issue = catalogue[type].data.safeParse(data).error?.issues[0];
    if (issue) throw new FeedbackRefused('invalid', `${issue.path.join('.')} ${issue.message}`);
  }
  return { drafts, of };
}

async function ofRollout(db: Db, { inTree, value, component, by, comment, ...each }: NewFeedback, id: string) {
  const scorer = scorerOf(by);
  const found = await locateRewarded(db, { id, treeId: inTree ?? null, component });
  if (!found)
    throw new FeedbackRefused(
      'unknown',
      `no ${nameOf(each)} is on record (a captured reply is, once its rollout goes on or ends)`,
    );
  const { treeId, runId, stepId, rolloutId, reward } = found;
  const drafts: Draft[] = [];
  const rewardId = reward?.rewardId ?? derivedId('reward', stepId ?? rolloutId ?? '', component);
  const isInForce = reward?.value === value && reward.scorer === scorer.name && reward.scorerRevision === scorer.revision;
  if (!reward) {
    const data = { rewardId, treeId, stepId, rolloutId, component, value, scorer, raw: null };
    drafts.push({ type: 'RewardAssigned', id: derivedId('RewardAssigned', rewardId), correlationId: runId, data });
  } else if (!isInForce) {
    const data = { rewardId, treeId, value, scorer, reason: comment };
    drafts.push({ type: 'RewardRevised', correlationId: runId, causationId: null, data });
  }
  if (comment !== '' && !isInForce) {
    const annotationId = derivedId('feedback', rewardId, by, String(value), comment);
    const [known] = await readAnnotationsById(db, [annotationId]);
    const subject =
      stepId === null ? ({ kind: 'rollout', rolloutId: rolloutId ?? '' } as const) : ({ kind: 'step', stepId } as const);
    const data = { annotationId, treeId, subject, label: null, score: value, note: comment };
    if (!known) drafts.push({ type: 'AnnotationAdded', id: annotationId, correlationId: runId, data });
  }
  return { drafts, of: { id: rewardId, treeId } };
}

async function ofRow(
  db: Db,
  { value, component, by, comment, ...each }: NewFeedback,
  row: { readonly datasetId: string; readonly line: number },
  { principal }: Principal,
) {
  scorerOf(by);
  const subject = { kind: 'row', ...row } as const;
  const at = (await locateSubjects(db, [{ subject, inTree: null }])).get(0);
  if (!at) throw new FeedbackRefused('unknown', `no ${nameOf(each)} is on record`);
  const { treeId, runId } = at;
  const said = await readStandingOfRow(db, { ...row, label: component, principal });
  const note = comment === '' ? by : `${by}: ${comment}`;
  const same = said.find((before) => before.score === value && before.note === note);
  if (same) return { drafts: [], of: { id: same.id, treeId } };
  const after = said.at(-1)?.id ?? ''; // the same value again, behind another one, is another annotation
  const annotationId = derivedId('feedback', row.datasetId, row.line, component, principal, after, String(value), note);
  const data = { annotationId, treeId, subject, label: component, score: value, note };
  const drafts: Draft[] = said.map((each) => ({
    type: 'AnnotationRetracted',
    correlationId: runId,
    causationId: each.id,
    data: { annotationId: each.id, treeId, reason: 'revised by later feedback' },
  }));
  drafts.push({ type: 'AnnotationAdded', id: annotationId, correlationId: runId, data });
  return { drafts, of: { id: annotationId, treeId } };
}

const BY = /^(?:person|program|judge):[^@]+(?:@(.+))?$/;

function scorerOf(by: string): { readonly name: string; readonly revision: string } {
  const parts = BY.exec(by);
  if (!parts)
    throw new FeedbackRefused(
      'invalid',
      `by is ${JSON.stringify(by)}; give person:NAME, program:NAME@REVISION or judge:NAME@REVISION`,
    );
  return { name: by.split('@')[0] ?? by, revision: parts[1] ?? '1' };
}

function nameOf({ of }: Pick<NewFeedback, 'of'>): string {
  return typeof of === 'string' ? `step, rollout, reply or trace ${of}` : `row ${of.line} of dataset ${of.datasetId}`;
}
