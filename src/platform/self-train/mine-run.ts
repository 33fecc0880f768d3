import { probePath } from '../../collect/revise-path.ts';
import { COMPOSE_DEFAULTS, composeRevisions } from '../../domain/revision/compose-revisions.ts';
import { directTransition, nextTransitionStep, type Transition } from '../../domain/revision/find-transition.ts';
import type { LeafPath } from '../../domain/revision/leaf-paths.ts';
import { pairPaths } from '../../domain/revision/pair-paths.ts';
import { isGood, type Thresholds } from '../../domain/revision/thresholds.ts';
import type { Verdict } from '../../domain/revision/verdict.ts';
import type { EnvironmentKind } from '../../environments/environment.ts';
import type { Judge } from '../../policies/judge.ts';
import { planJudge } from '../../policies/judge-by-plan.ts';
import { readSearchedTree, readTreeIds, type SearchedTree } from '../../projections/revisions/read-searched-trees.ts';
import type { ClonedAction } from '../../training/clone-behaviour.ts';
import type { Platform } from '../open-platform.ts';
import type { Method, SelfTrainPlan } from './plan.ts';
import { spellActions } from './spell-actions.ts';

type Spelt = Omit<ClonedAction, 'weight'>;

/** What the trees of a run gave to learn from. */
export interface Mined {
  readonly goodActions: readonly Spelt[];
  readonly revisionActions: readonly Spelt[];
  readonly counts: {
    readonly good: number;
    readonly pairs: number;
    readonly revisions: number;
    /** Revisions that could not be executed, or did not reach alpha when they were. */
    readonly rejected: number;
    /** Steps judged per bad trajectory; null where nobody was asked. */
    readonly meanRevisionLength: number | null;
  };
}

export interface Mining extends Thresholds {
  readonly runId: string;
  readonly method: Exclude<Method, 'base'>;
  readonly judge: SelfTrainPlan['judge'];
  readonly kind: EnvironmentKind;
  readonly perTask: number;
  readonly seed: number;
  readonly signal: AbortSignal;
}

/**
 * Mines what a method trains on from the recorded trees of a run: good trajectories, and unless it is `good-only` verified revisions. A pure function
 * of the record and the parameters; trees come in the order of their tasks, whatever the order they were grown in.
 */
export async function mineRun({ database, blobs }: Platform, mining: Mining): Promise<Mined> {
  const resolve = async (sha256: string) => Buffer.from(await blobs.get(sha256)).toString('utf8');
  const judge = mining.method === 'agent-r' ? planJudge(mining.kind.fingerprint) : null;
  const trees: SearchedTree[] = [];
  for (const treeId of await readTreeIds(database.db, mining.runId)) {
    const tree = await readSearchedTree(database.db, treeId, resolve);
    if (tree) trees.push(tree);
  }
  const each: Mined[] = [];
  for (const tree of trees.sort((a, b) => Number(a.alias) - Number(b.alias) || (a.alias < b.alias ? -1 : 1))) {
    mining.signal.throwIfAborted();
    each.push(await mineTree(tree, judge, mining));
  }
  return sumUp(each);
}

async function mineTree(tree: SearchedTree, judge: Judge | null, mining: Mining): Promise<Mined> {
  const { kind, method, perTask } = mining;
  const { good, bad, pairs } = pairPaths(tree.tree, mining);
  const kept = good.slice(0, perTask);
  const goodActions: Spelt[] = [];
  for (const { steps } of kept) {
    const spelt = await spellActions(
      kind,
      tree,
      steps.map(({ response }) => ({ response, loss: true })),
    );
    goodActions.push(...(spelt?.actions ?? []));
  }
  const counts = { good: kept.length, pairs: pairs.length, revisions: 0, rejected: 0, meanRevisionLength: null };
  if (method === 'good-only') return { goodActions, revisionActions: [], counts };

  const transitions = new Map<string, Transition>();
  for (const path of bad) {
    const found = judge ? await firstError(tree, path, judge, mining) : directTransition(path.steps);
    transitions.set(path.leafStepId, found);
  }
  const { revisions } = composeRevisions(pairs, transitions, { ...COMPOSE_DEFAULTS, treeId: tree.treeId, seed: mining.seed });
  const revisionActions: Spelt[] = [];
  let verified = 0;
  let rejected = 0;
  for (const { turns } of spread(revisions, perTask)) {
    const spelt = await spellActions(kind, tree, turns);
    if (!spelt || !isGood(spelt.reached, mining)) {
      rejected++;
      continue;
    }
    verified++;
    revisionActions.push(...spelt.actions);
  }
  const lengths = [...transitions.values()].map(({ judged }) => judged);
  const meanRevisionLength =
    judge && lengths.length > 0 ? lengths.reduce((sum, length) => sum + length, 0) / lengths.length : null;
  return { goodActions, revisionActions, counts: { ...counts, revisions: verified, rejected, meanRevisionLength } };
}

async function firstError(tree: SearchedTree, { steps }: LeafPath, judge: Judge, mining: Mining): Promise<Transition> {
  const probe = probePath(mining.kind, tree, steps);
  const verdicts: Verdict[] = [];
  try {
    for (;;) {
      const next = nextTransitionStep(steps, tree.firstObservation, verdicts);
      if (next.kind === 'found') return next.transition;
      const { index, slots } = next;
      const request = { steps, index, slots, planAround: () => probe.planAround(index) };
      const { verdict } = await judge.judge(request, mining.signal);
      verdicts.push(verdict === 'uncertain' && mining.judge === 'planner-strict' ? 'bad' : verdict);
    }
  } finally {
    await probe.close();
  }
}

/** Takes at most `limit` items, evenly from first to last: the first ones of a list of pairs all share one good trajectory. */
function spread<T>(items: readonly T[], limit: number): readonly T[] {
  if (items.length <= limit) return items;
  return Array.from({ length: limit }, (_, i) => items[Math.floor((i * items.length) / limit)]).filter(
    (item) => item !== undefined,
  );
}

function sumUp(each: readonly Mined[]): Mined {
  const sum = (of: (mined: Mined) => number) => each.reduce((total, mined) => total + of(mined), 0);
  const lengths = each.flatMap(({ counts }) => (counts.meanRevisionLength === null ? [] : [counts.meanRevisionLength]));
  return {
    goodActions: each.flatMap(({ goodActions }) => goodActions),
    revisionActions: each.flatMap(({ revisionActions }) => revisionActions),
    counts: {
      good: sum(({ counts }) => counts.good),
      pairs: sum(({ counts }) => counts.pairs),
      revisions: sum(({ counts }) => counts.revisions),
      rejected: sum(({ counts }) => counts.rejected),
      // The mean over tasks: a task with many bad trajectories is still one task.
      meanRevisionLength: lengths.length === 0 ? null : lengths.reduce((total, length) => total + length, 0) / lengths.length,
    },
  };
}
