import { lookAhead, type PoolOutlook } from '../../../domain/training/planning/plan-batches.ts';
import type { PlanRules } from '../../../domain/training/planning/plan-rules.ts';
import type { Db } from '../../../postgres/database.ts';
import { type LineageRecord, readLineages } from '../../../projections/training-pool/read-lineages.ts';
import { readFinishedRuns, readPool } from '../../../projections/training-pool/read-pool.ts';
import { type GroupCounts, readGroupCounts, readNextLease } from '../../../projections/training-pool/read-waiting.ts';
import { TrainingRefused, understandLineage } from '../../../training/read-plan-request.ts';

/**
 * What a trainer without a batch waits for. `declaration`: nobody declared how the policy is trained. `first-version`: its
 * trainer makes version 0. `lease`: another consumer has the batch. `runs`: no run feeds the policy. `planner`: a batch can be
 * planned, and no batcher has. `scores`, `greedy-sibling`: closed groups lack a reward, or a greedy rollout. `members`: open
 * groups are not complete. `groups`: its runs have to open more. `tasks`: its runs are over.
 */
export const WAITING_FOR = [
  ...(['declaration', 'first-version', 'lease', 'runs', 'planner'] as const),
  ...(['scores', 'greedy-sibling', 'members', 'groups', 'tasks'] as const),
] as const;
export type WaitingFor = (typeof WAITING_FOR)[number];

export interface WaitingReason {
  readonly state: 'waiting';
  readonly waitingFor: WaitingFor;
  readonly groups: {
    readonly open: number;
    readonly closed: number;
    /** Closed groups that are fit for the next batch. */
    readonly ready: number;
    /** Closed groups of which no member is trained, by reason. */
    readonly rejected: Readonly<Record<string, number>>;
  };
  /** What has to come next, in words. */
  readonly next: string;
}

/**
 * Explains why there is no batch of a policy to be leased, by the read models of one moment; null where one is there. @param
 * busyUntil what the lease service said of another consumer, where it was asked.
 */
export async function whyWaiting(db: Db, policyId: string, busyUntil: Date | null = null): Promise<WaitingReason | null> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute((trx) => explainWaiting(trx, policyId, busyUntil));
}

/** The same for who has chosen the moment, or lets it pass between statements. */
export async function explainWaiting(db: Db, policyId: string, busyUntil: Date | null = null): Promise<WaitingReason | null> {
  const [lineage] = await readLineages(db, [policyId]);
  const counts = await readGroupCounts(db, policyId);
  const say = (waitingFor: WaitingFor, next: string, ready = 0): WaitingReason => {
    const { open, closed, rejected } = counts;
    return { state: 'waiting', waitingFor, groups: { open, closed, ready, rejected }, next };
  };
  const ordinal = lineage ? lineage.trained + lineage.abandoned : null;
  if (busyUntil !== null || (lineage && lineage.planned > (ordinal ?? 0))) {
    const lease = ordinal === null ? undefined : await readNextLease(db, policyId, ordinal);
    const until = busyUntil ?? lease?.deadline;
    if (!until) return null;
    const [batch, by] = [
      ordinal === null ? 'the next batch' : `batch ${ordinal}`,
      lease?.consumer ? ` by ${lease.consumer}` : '',
    ];
    return say('lease', `${batch} is leased${by} until ${until.toISOString()}`);
  }
  if (!lineage)
    return say(
      'declaration',
      'nobody declared how it is trained: PUT /v1/training/policies/{id} declares it, and batches are planned',
    );
  if (lineage.newestVersion === null)
    return say(
      'first-version',
      'it has no version yet: its trainer makes version 0 (`espalier serve train`), or one elsewhere registers it (`register` of the Python client, POST /v1/training/policies)',
    );
  if (counts.runs === 0)
    return say(
      'runs',
      `no run feeds it: record rollouts of a run whose config.training is {"policyId": ${JSON.stringify(policyId)}, "channel": "train"}`,
    );
  return explainPool(db, lineage, counts, say);
}

type Say = (waitingFor: WaitingFor, next: string, ready?: number) => WaitingReason;

async function explainPool(db: Db, lineage: LineageRecord, counts: GroupCounts, say: Say): Promise<WaitingReason> {
  const { policyId, planned, trained, abandoned, seed } = lineage;
  try {
    const { rules, estimator } = understandLineage(lineage);
    const { readiness } = estimator;
    const finishedRuns = await readFinishedRuns(db, policyId);
    const groups = await readPool(db, { policyId, rules, waitsFor: readiness.waitsFor, finishedRuns });
    const state = { policyId, planned, trained, abandoned, newestVersion: lineage.newestVersion ?? 0 };
    const outlook = lookAhead({ state, rules, readiness, seed, groups });
    const [waitingFor, next] = explain(outlook, counts, rules);
    return say(waitingFor, next, outlook.ready);
  } catch (error) {
    if (error instanceof TrainingRefused) return say('planner', `no planner of this version can plan it: ${error.message}`);
    throw error;
  }
}

function explain(
  { batches, rejections, ready, unscored, greedy }: PoolOutlook,
  { open, openRuns, missing }: GroupCounts,
  rules: PlanRules,
): readonly [WaitingFor, string] {
  if (batches + rejections > 0) {
    const what =
      batches > 0 ? `${many(batches, 'batch', 'batches')} can be planned` : `${many(rejections, 'sample')} can be judged`;
    return ['planner', `${what}, and no planner did yet: \`espalier up\` runs one, or \`espalier serve batch\``];
  }
  if (unscored.groups > 0) {
    const { groups, members, components } = unscored;
    const what = `the reward${components.length > 1 ? 's' : ''} ${components.join(', ')}`;
    return ['scores', `${many(groups, 'group')} ${waits(groups)} for ${what} of ${many(members, 'member')}; ${SCORES_REMEDY}`];
  }
  if (greedy > 0)
    return ['greedy-sibling', `${many(greedy, 'group')} ${waits(greedy)} for a greedy rollout of the task by the same version`];
  const { groupsPerBatch } = rules;
  const wanted = Math.max(1, groupsPerBatch - ready);
  const collected = `${ready} of ${groupsPerBatch} groups of the next batch are ready`;
  if (open > 0) {
    const soonest = missing.slice(0, wanted); // the groups that lack the least complete the batch
    const members = soonest.reduce((sum, each) => sum + each, 0);
    const more =
      wanted > open
        ? `; ${collected}, and ${many(wanted - open, 'more group')} ${wanted - open === 1 ? 'is' : 'are'} wanted`
        : '';
    return ['members', `${many(soonest.length, 'group')} ${waits(soonest.length)} for ${many(members, 'member')}${more}`];
  }
  if (openRuns > 0) return ['groups', `${collected}; ${many(openRuns, 'run')} can open more, and none is open`];
  return ['tasks', `${collected}, and every run that feeds it is over: record more groups`];
}

const SCORES_REMEDY =
  '`espalier score` gives what a scorer gives; a program that gives a component itself gives it to every rollout, 0 where it is not earned, or the declaration says `rules.unscored: reject`';

function many(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`;
}

function waits(groups: number): string {
  return groups === 1 ? 'waits' : 'wait';
}
