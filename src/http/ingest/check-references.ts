import type { Db } from '../../postgres/database.ts';
import type { Declaration, DeclaredKind } from '../../projections/read-declarations.ts';
import type { Problem } from '../reply.ts';
import type { Sent } from './check-events.ts';
import { findKnown, type Known, KnownSet } from './known-references.ts';
import { declarationsOf, type Reference, referencesOf } from './references.ts';

export type ReferencesChecked =
  | { readonly kind: 'known' }
  /** Something was not found, and the read models are too far behind to say that it does not exist. */
  | { readonly kind: 'undecided' }
  | { readonly kind: 'wrong'; readonly problems: readonly Problem[] };

export interface ReferenceWorld {
  readonly db: Db;
  /** What this process appended lately: a producer that sends step after step need not wait for the projections each time. */
  readonly recent: Known;
  /** Waits, within a limit, until the read models of these kinds hold all that the log holds now; returns whether they do. */
  readonly caughtUp: (kinds: ReadonlySet<DeclaredKind>) => Promise<boolean>;
}

/**
 * Checks that everything the events refer to is on record before them, in their tree and at the right depth: earlier in the
 * request, appended lately, or in the read models. What is missing there is looked for again once the read models have caught up.
 */
export async function checkReferences(events: readonly Sent[], world: ReferenceWorld): Promise<ReferencesChecked> {
  const needs = needsOf(events, world.recent);
  const found = new KnownSet();
  const isMissing = (need: Need) => declarationFor(need, found)?.treeId !== need.reference.treeId;
  const look = async () =>
    found.add(
      await findKnown(
        world.db,
        needs.filter(isMissing).map(({ reference }) => reference),
      ),
    );
  const wrong = () => needs.map((need) => judge(need, declarationFor(need, found))).filter((problem) => problem !== undefined);

  await look();
  const missing = needs.filter(isMissing);
  if (missing.length > 0 && wrong().length === missing.length) {
    if (!(await world.caughtUp(new Set(missing.map(({ reference }) => reference.kind))))) return { kind: 'undecided' };
    await look();
  }
  const problems = wrong();
  return problems.length === 0 ? { kind: 'known' } : { kind: 'wrong', problems };
}

interface Need {
  readonly sent: Sent;
  readonly reference: Reference;
  /** What answers it without a look-up. */
  readonly before: Declaration | undefined;
  /** What another tree has under the id, where nothing of the tree is found. */
  readonly elsewhere: Declaration | undefined;
}

/** Lists what has to be looked up, and what is on record otherwise than an event says; most are neither. */
function needsOf(events: readonly Sent[], recent: Known): readonly Need[] {
  const declared = new KnownSet();
  const needs: Need[] = [];
  for (const sent of events) {
    for (const reference of referencesOf(sent.event)) {
      const { kind, id, treeId } = reference;
      const here = declared.get(kind, id, treeId);
      const known = here?.treeId === treeId ? here : (recent.get(kind, id, treeId) ?? here);
      const before = known?.treeId === treeId ? known : undefined;
      if (before && before !== here) declared.add([before]); // the next events name it too
      if (!before || !agrees(reference, before)) needs.push({ sent, reference, before, elsewhere: known });
    }
    declared.add(declarationsOf(sent.event));
  }
  return needs;
}

function declarationFor({ before, elsewhere, reference }: Need, found: Known): Declaration | undefined {
  return before ?? found.get(reference.kind, reference.id, reference.treeId) ?? elsewhere;
}

function agrees({ treeId, depth, takenBy, runId }: Reference, declaration: Declaration): boolean {
  return declaration.treeId === treeId && isAt(depth, declaration) && isOf(takenBy, declaration) && isIn(runId, declaration);
}

function isAt(depth: Reference['depth'], declaration: Declaration): boolean {
  return depth === undefined || declaration.depth === null || declaration.depth === depth;
}

function isOf(rolloutId: Reference['takenBy'], { rolloutId: taker = null }: Declaration): boolean {
  return rolloutId === undefined || taker === null || taker === rolloutId;
}

function isIn(runId: Reference['runId'], declaration: Declaration): boolean {
  return runId === undefined || declaration.runId == null || declaration.runId === runId;
}

function judge({ sent, reference }: Need, declaration: Declaration | undefined): Problem | undefined {
  const { kind, id, field, treeId, depth, takenBy, runId } = reference;
  const problem = (path: string, message: string, remedy: string) => ({
    index: sent.index,
    id: sent.event.id,
    path,
    message,
    remedy,
  });
  if (!declaration) return problem(field, `no ${kind} ${id} is on record`, REMEDIES[kind]);
  if (declaration.treeId !== treeId)
    return problem(field, `${kind} ${id} belongs to another tree, ${declaration.treeId}`, `name a ${kind} of tree ${treeId}`);
  if (!isAt(depth, declaration))
    return problem(
      'data.depth',
      `must be ${(declaration.depth ?? 0) + 1}, one more than its parent's`,
      'correct the depth or the parent',
    );
  if (!isOf(takenBy, declaration))
    return problem(
      'data.rolloutId',
      `names rollout ${takenBy}, and step ${id} was taken by rollout ${declaration.rolloutId}: the reward would be of two rollouts`,
      `name rollout ${declaration.rolloutId}, or null: a step has one rollout`,
    );
  if (!isIn(runId, declaration))
    return problem(
      'correlationId',
      `names run ${runId}, and tree ${id} belongs to run ${declaration.runId}`,
      `name run ${declaration.runId}, or give a tree of another run an id of its own`,
    );
  return undefined;
}

const REMEDIES: Readonly<Record<DeclaredKind, string>> = {
  run: 'append its RunStarted first, or earlier in the same request',
  tree: 'append its TreeOpened first, or earlier in the same request',
  step: 'append its StepTaken first, or earlier in the same request; the root comes with TreeOpened',
  rollout: 'append its RolloutStarted first, or earlier in the same request',
  reward: 'append its RewardAssigned first, or earlier in the same request',
  revision: 'append its RevisionComposed first, or earlier in the same request',
  'render-spec': 'append its RenderSpecRegistered first, or earlier in the same request',
  segment: 'append its SegmentRendered first, or earlier in the same request',
  prompt: 'append the PromptShown of that step or judgement first, or earlier in the same request',
  history: 'append the HistoryRendered of that step first, or earlier in the same request',
  dataset: 'append its DatasetReleased first, or earlier in the same request',
  annotation: 'append its AnnotationAdded first, or earlier in the same request',
};
