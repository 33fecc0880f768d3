import type { Draft } from '../../append/appender.ts';
import { composeRevisions, REFLECTIONS, type Revision } from '../../domain/revision/compose-revisions.ts';
import { directTransition, nextTransitionStep, type Transition } from '../../domain/revision/find-transition.ts';
import { type LeafPath, pairPaths } from '../../domain/revision/pair-paths.ts';
import type { Verdict } from '../../domain/revision/verdict.ts';
import type { SearchedStep } from '../../domain/search/search-tree.ts';
import type { Environment, EnvironmentKind } from '../../environments/environment.ts';
import { resetAsRecorded } from '../../environments/reset-as-recorded.ts';
import { sameObservation } from '../../environments/same-observation.ts';
import { derivedId } from '../../events/derived-id.ts';
import { judgeText } from '../../events/schemas/revisions.ts';
import type { PlanAround } from '../../policies/judge.ts';
import { keyInTree } from '../../projections/of-tree.ts';
import type { SearchedTree } from '../../projections/revisions/read-searched-trees.ts';
import { revisionContentHash } from '../../projections/revisions/revision-content.ts';
import { isAbort } from '../../runtime/is-abort.ts';
import { type Checked, type Checks, openChecks } from './revise-check.ts';
import type { Verdicts } from './revise-verdicts.ts';
import type { RevisedTree, RevisePlan, ReviseTree, RevisionOutcome } from './revised-tree.ts';

/**
 * Mines the revisions of one tree: pairs its trajectories, finds the first error of each bad one once, splices, and executes what
 * was spliced. Every judgement, revision and outcome is recorded as it happens, under ids that follow from what it is about; what
 * the record holds is not done again. Null when the signal was aborted on the way: the rest is left for a resume.
 */
export async function reviseTree(work: ReviseTree): Promise<RevisedTree | null> {
  const { tree, plan } = work;
  const pairing = pairPaths(tree.tree, plan);
  const transitions = new Map<string, Transition>();
  const verdicts: Verdict[] = [];
  for (const bad of pairing.bad) {
    const found = work.verdicts ? await findTransition(work, work.verdicts, bad, verdicts) : directTransition(bad.steps);
    if (!found) return null;
    transitions.set(bad.leafStepId, found);
  }
  const composed = composeRevisions(pairing.pairs, transitions, { ...plan, treeId: tree.treeId });
  const outcomes = await recordAll(work, composed.revisions);
  const revisionKeys = composed.revisions.map((revision) => keyInTree(tree.treeId, namesOf(work, revision).revisionId));
  return outcomes && { pairing, verdicts, composed, outcomes, revisionKeys };
}

const AT_ONCE = 32; // revisions: an append that is durable costs about as much as 32 checks

/** Records and executes revisions in their order. Null when the signal was aborted on the way. */
async function recordAll(work: ReviseTree, revisions: readonly Revision[]): Promise<readonly RevisionOutcome[] | null> {
  const { tree, plan, kind, read, checking, recorded, slots } = work;
  const named = revisions.map((revision) => ({ ...revision, ...namesOf(work, revision) }));
  const open = named.filter(({ revisionId }) => (recorded.outcomes.get(revisionId) ?? 'composed') === 'composed');
  const failed = new AbortController();
  const signal = AbortSignal.any([work.signal, failed.signal]);
  const checks =
    kind && checking === 'execute'
      ? openChecks(
          { kind, read, slots, signal },
          tree,
          open.map(({ turns }) => turns),
        )
      : null;
  const ahead = checks && checkAhead(checks, open, plan);
  const outcomes: RevisionOutcome[] = [];
  try {
    for (let from = 0; from < named.length; from += AT_ONCE) {
      const found = await recordSome(work, named.slice(from, from + AT_ONCE), ahead);
      if (!found) return null;
      for (const each of found) outcomes.push(each);
    }
    return outcomes;
  } finally {
    failed.abort(); // what was begun ahead is not needed where this ended before
    await ahead?.ended();
    await checks?.close();
  }
}

/** Records some revisions, executes them, and records the outcomes: those that were found, whatever fails after them. */
async function recordSome(
  { tree, plan, judge, recorded, appender, signal }: ReviseTree,
  revisions: readonly (Revision & Names)[],
  checks: Ahead | null,
): Promise<readonly RevisionOutcome[] | null> {
  if (signal.aborted) return null;
  const fresh = revisions.filter(({ revisionId }) => !recorded.outcomes.has(revisionId));
  if (fresh.length > 0) await appender.append(fresh.map((revision) => composedDraft({ tree, plan, judge }, revision)));
  const outcomes: RevisionOutcome[] = [];
  const drafts: Draft[] = [];
  try {
    for (const { revisionId } of revisions) {
      if (signal.aborted) return null;
      const stated = recorded.outcomes.get(revisionId) ?? 'composed';
      const checked = stated === 'composed' && checks ? await checks.next() : null;
      if (checked) drafts.push(outcomeDraft({ tree, plan }, revisionId, checked));
      outcomes.push(checked === null ? stated : checked.kind === 'verified' ? 'verified' : checked.reason);
    }
  } catch (error) {
    if (isAbort(error, signal)) return null;
    throw error;
  } finally {
    if (drafts.length > 0) await appender.append(drafts);
  }
  return outcomes;
}

/** The outcomes of revisions in their order, executed ahead of who asks. */
interface Ahead {
  /** @throws what its check throws. */
  next(): Promise<Checked>;
  /** Resolves when no check is under way. */
  ended(): Promise<void>;
}

const AHEAD = 512; // checks begun and not asked for: many wait for the same action, and each holds no more than its way

function checkAhead(checks: Checks, revisions: readonly Revision[], plan: RevisePlan): Ahead {
  const begun: Promise<Checked>[] = [];
  let asked = 0;
  return {
    next() {
      for (const { turns } of revisions.slice(begun.length, asked + AHEAD)) {
        const checked = checks.check(turns, plan);
        checked.catch(() => undefined); // thrown to who asks for it, if anybody does
        begun.push(checked);
      }
      const checked = begun[asked++];
      if (!checked) throw new RangeError(`there are ${revisions.length} revisions to be checked`);
      return checked;
    },
    async ended() {
      await Promise.allSettled(begun);
    },
  };
}

async function findTransition(
  work: ReviseTree,
  given: Verdicts,
  bad: LeafPath,
  allVerdicts: Verdict[],
): Promise<Transition | null> {
  const { tree, plan, signal, recorded, kind } = work;
  const { steps, leafStepId } = bad;
  const probe = probePath(kind, tree, steps);
  const verdicts: Verdict[] = [];
  try {
    for (;;) {
      if (signal.aborted) return null;
      const next = nextTransitionStep(steps, tree.firstObservation, verdicts, plan.unparsed);
      if (next.kind === 'found') return next.transition;
      const { index, slots } = next;
      const request = { steps, index, slots, planAround: () => probe.planAround(index) };
      const place = { treeId: tree.treeId, runId: tree.runId, leafStepId, request };
      const { verdict } = await given.of(place, recorded.answers, signal);
      verdicts.push(verdict);
      allVerdicts.push(verdict);
    }
  } finally {
    await probe.close();
  }
}

interface Names {
  readonly contentHash: string;
  readonly revisionId: string;
}

function namesOf({ tree, plan, judge }: ReviseTree, { goodLeafStepId, badLeafStepId, turns }: Revision): Names {
  const contentHash = revisionContentHash(tree, turns);
  const parts = [tree.treeId, goodLeafStepId, badLeafStepId, contentHash, judgeText(judge), plan.alpha, plan.beta];
  return { contentHash, revisionId: derivedId('revision', ...parts) };
}

function composedDraft({ tree, plan, judge }: Pick<ReviseTree, 'tree' | 'plan' | 'judge'>, revision: Revision & Names): Draft {
  const { goodLeafStepId, badLeafStepId, contentHash, revisionId } = revision;
  const bad = stepsTo(tree, badLeafStepId);
  return {
    type: 'RevisionComposed',
    id: derivedId('RevisionComposed', revisionId),
    correlationId: tree.runId,
    data: {
      revisionId,
      treeId: tree.treeId,
      goodLeafStepId,
      badLeafStepId,
      contentHash,
      judge: { name: judge.name, revision: judge.revision },
      branchStepId: stepAt(bad, revision.branch),
      transitionStepId: stepAt(bad, revision.transition + 1),
      transitionCause: revision.cause,
      judged: revision.revisionLength,
      reflection: REFLECTIONS[revision.reflection] ?? '',
      signal: revision.signal,
      alpha: plan.alpha,
      beta: plan.beta,
    },
  };
}

function outcomeDraft({ tree, plan }: Pick<ReviseTree, 'tree' | 'plan'>, revisionId: string, found: Checked): Draft {
  const about = { revisionId, treeId: tree.treeId };
  const draft = {
    id: derivedId('revision outcome', revisionId),
    correlationId: tree.runId,
    causationId: derivedId('RevisionComposed', revisionId),
  };
  const { kind: _, ...checked } = found;
  if ('reason' in checked) return { type: 'RevisionRejected', ...draft, data: { ...about, ...checked } };
  return { type: 'RevisionVerified', ...draft, data: { ...about, ...checked, threshold: plan.alpha } };
}

/** The steps of a trajectory with the root before them: place 0 is the root, place n the nth action. */
function stepsTo({ tree }: SearchedTree, leafStepId: string): readonly string[] {
  const ids: string[] = [];
  for (let node = tree.nodes.get(leafStepId) ?? null; node; node = node.parent) ids.push(node.step.stepId);
  return ids.reverse();
}

function stepAt(ids: readonly string[], place: number): string {
  const id = ids[place];
  if (id === undefined) throw new RangeError(`the trajectory has no step at ${place}`);
  return id;
}

/**
 * Walks a recorded trajectory in a fresh environment, as far as it is asked, and returns how far the goal is around its steps.
 */
interface PathProbe {
  /**
   * Plans before and after the step at `index`; null where the environment does not plan, or did not repeat what was recorded.
   */
  planAround(index: number): Promise<PlanAround | null>;
  close(): Promise<void>;
}

/** Opens a probe; the environment is made when it is first asked. Steps are asked for in their order, each at most once. */
export function probePath(kind: EnvironmentKind | null, tree: SearchedTree, steps: readonly SearchedStep[]): PathProbe {
  let environment: Environment | null = null;
  let taken = 0;
  let faithful = true;

  async function advance(to: number): Promise<boolean> {
    if (!environment && kind) {
      environment = await kind.create();
      const task = { alias: tree.alias, seed: tree.seed };
      const pictures = tree.pictures.get(tree.tree.root.step.stepId) ?? [];
      faithful = (await resetAsRecorded(environment, task, tree.firstObservation, pictures)).kind === 'same';
    }
    while (environment && faithful && taken < to) await take(environment);
    return environment !== null && faithful;
  }

  async function take(at: Environment) {
    const step = steps[taken++];
    if (!step) throw new RangeError(`the trajectory has no step ${taken - 1}`);
    const result = await at.step(step.action);
    faithful = sameObservation(result, { observation: step.observation, pictures: tree.pictures.get(step.stepId) ?? [] });
    return result;
  }

  return {
    async planAround(index) {
      if (!(await advance(index)) || !environment?.planLength) return null;
      const before = await environment.planLength();
      const result = await take(environment);
      if (!faithful) return null;
      const reached = result.terminated && result.success === true;
      return { before, after: reached ? 0 : await environment.planLength(), executable: result.executable };
    },
    close: async () => environment?.close(),
  };
}
