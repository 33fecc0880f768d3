import type { Offsets } from '../../log/event-log.ts';
import type { Db } from '../../postgres/database.ts';
import { seedOfRollouts } from '../../projections/lineage/recall-seeds.ts';
import { readTouched } from '../../projections/lineage/recall-touched.ts';
import type { Touched } from '../../projections/lineage/touched.ts';
import { keyInTree } from '../../projections/of-tree.ts';
import { type JudgedReward, type Judgement, readJudged } from '../../projections/rewards/read-judged.ts';
import { readRun } from '../../projections/runs/read-runs.ts';
import { readTreesOfRun } from '../../projections/step-tree/read-trees-of-run.ts';
import { ReplayRefused } from '../replay/replay-environment.ts';
import {
  type AdvantagePair,
  changesOf,
  estimateAdvantages,
  type GroupChange,
  type RewardPair,
  recordedEstimator,
  type ScoredGroup,
  sumGroup,
} from './replay-scores-advantages.ts';

/** Which two states of the rewards are compared. */
export type DiffOptions =
  /** What was recorded first, and what is in force. */
  | { readonly kind: 'first-and-last' }
  /** The last word of each of two scorers, `NAME@REVISION`. */
  | { readonly kind: 'scorers'; readonly before: string; readonly after: string }
  /** What was in force at two places of the log. Rollouts that were not finished at both are left out. */
  | { readonly kind: 'positions'; readonly before: Offsets; readonly after: Offsets };

export interface ComponentDiff {
  readonly component: string;
  /** Rewards of it, and those that have another value. */
  readonly rewards: number;
  readonly changed: number;
  /** Sums over all of its rewards. */
  readonly before: number;
  readonly after: number;
}

export interface RewardsDiff {
  readonly runId: string;
  readonly estimator: string;
  readonly components: readonly ComponentDiff[];
  readonly rollouts: number;
  readonly otherReturns: number;
  readonly otherAdvantages: number;
  readonly groups: number;
  readonly changes: readonly GroupChange[];
  readonly members: readonly {
    readonly treeId: string;
    readonly rolloutId: string;
    readonly returns: AdvantagePair;
    readonly advantages: AdvantagePair;
  }[];
  /** What the rollouts with another return or advantage went into. */
  readonly touched: Touched;
}

/**
 * Compares the rewards of a run in two states of the record: by component, by group (returns, and advantages by the estimator
 * that its policy is trained with) and by what was made of them. Judgements are read from the journal. @throws ReplayRefused for
 * a run or a scorer that is not there.
 */
export async function diffRewards(
  db: Db,
  { runId, asked, signal }: { readonly runId: string; readonly asked: DiffOptions; readonly signal: AbortSignal },
): Promise<RewardsDiff> {
  if (!(await readRun(db, runId))) throw new ReplayRefused(`there is no run ${runId}; \`espalier status\` lists the runs`);
  const trees = await readTreesOfRun(db, runId);
  const groups: ScoredGroup[] = [];
  const components = new Map<string, ComponentDiff>();
  const scorers = new Set<string>();
  for (const tree of trees) {
    signal.throwIfAborted();
    const { rewards, finished } = await readJudged(db, tree.treeId);
    for (const { judgements } of rewards) for (const { scorer } of judgements) scorers.add(scorer);
    const pairs = rewards.map((reward) => pairOf(reward, asked));
    for (const pair of pairs) count(components, pair);
    const group = await sumGroup(db, tree, pairs);
    groups.push({ ...group, members: group.members.filter(({ rolloutId }) => isThere(finished.get(rolloutId), asked)) });
  }
  refuseUnknown(asked, scorers);
  const estimator = await recordedEstimator(db, runId);
  const advantages = estimateAdvantages(groups, { before: estimator, after: estimator });
  const changes = changesOf(groups, advantages);
  const members = groups
    .flatMap(({ treeId, members: of }) => of.map((member) => ({ treeId, ...member })))
    .map(({ treeId, rolloutId, before, after }) => ({
      treeId,
      rolloutId,
      returns: { before, after },
      advantages: advantages.get(keyInTree(treeId, rolloutId)) ?? { before: null, after: null }, // a rollout without a step of its own has none
    }))
    .filter(({ returns, advantages: pair }) => returns.before !== returns.after || pair.before !== pair.after);
  return {
    runId,
    estimator: `${estimator.name}@${estimator.revision}`,
    components: [...components.values()].sort((a, b) => (a.component < b.component ? -1 : 1)),
    rollouts: groups.reduce((sum, group) => sum + group.members.length, 0),
    otherReturns: members.filter(({ returns }) => returns.before !== returns.after).length,
    otherAdvantages: members.filter(({ advantages: pair }) => pair.before !== pair.after).length,
    groups: groups.length,
    changes,
    members,
    touched: await readTouched(db, seedOfRollouts(members.map(({ treeId, rolloutId: id }) => ({ treeId, id })))),
  };
}

function pairOf({ judgements, ...reward }: JudgedReward, options: DiffOptions): RewardPair {
  const last = (keep: (judgement: Judgement) => boolean) => judgements.findLast(keep)?.value ?? null;
  switch (options.kind) {
    case 'first-and-last':
      return { ...reward, before: judgements[0]?.value ?? null, after: judgements.at(-1)?.value ?? null };
    case 'positions':
      return {
        ...reward,
        before: last((judgement) => isBelow(judgement, options.before)),
        after: last((judgement) => isBelow(judgement, options.after)),
      };
    case 'scorers': {
      const [before, after] = [last(({ scorer }) => scorer === options.before), last(({ scorer }) => scorer === options.after)];
      // What neither judged is what it is; what the second never judged again is as the first left it.
      if (before === null && after === null) {
        const value = judgements.at(-1)?.value ?? null;
        return { ...reward, before: value, after: value };
      }
      return { ...reward, before, after: after ?? before };
    }
    default:
      return options satisfies never;
  }
}

interface Placed {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

function isBelow({ topic, partition, offset }: Placed, position: Offsets): boolean {
  return offset < (position.get(topic)?.get(partition) ?? 0);
}

function isThere(finished: Placed | undefined, options: DiffOptions): boolean {
  if (options.kind !== 'positions') return true;
  return finished !== undefined && isBelow(finished, options.before) && isBelow(finished, options.after);
}

function count(components: Map<string, ComponentDiff>, { component, before, after }: RewardPair): void {
  const sum = components.get(component) ?? { component, rewards: 0, changed: 0, before: 0, after: 0 };
  components.set(component, {
    component,
    rewards: sum.rewards + 1,
    changed: sum.changed + (before === after ? 0 : 1),
    before: sum.before + (before ?? 0),
    after: sum.after + (after ?? 0),
  });
}

function refuseUnknown(options: DiffOptions, scorers: ReadonlySet<string>): void {
  if (options.kind !== 'scorers') return;
  const missing = [options.before, options.after].find((scorer) => !scorers.has(scorer));
  if (missing === undefined) return;
  const there = [...scorers].sort().join(', ') || 'nobody';
  throw new ReplayRefused(`no reward of the run was given by ${missing}; those on record are by ${there}`);
}
