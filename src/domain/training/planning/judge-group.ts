import { meanAmount, sumAmounts } from '../../reward/amount.ts';
import { cutText } from '../../text/cut-text.ts';
import type { Readiness } from '../advantages/estimator.ts';
import { type PlanRules, weightOf } from './plan-rules.ts';
import type { PoolGroup, PoolSample } from './pool.ts';
import type { RejectedSample, Rejection } from './record-fault.ts';

/**
 * `waiting`: nothing can be said of the group before `for` came. `refused`: no member will be trained. `fit`: the chosen members
 * may be. `rejected` are the members that are out and were not recorded so before; a group that waits can lose members too.
 */
export type Judgement =
  | {
      readonly kind: 'waiting';
      readonly for: 'group' | 'reward' | 'greedy-sibling';
      readonly rejected: readonly RejectedSample[];
    }
  | { readonly kind: 'refused'; readonly rejected: readonly RejectedSample[] }
  | { readonly kind: 'fit'; readonly chosen: readonly PoolSample[]; readonly rejected: readonly RejectedSample[] };

export interface GroupContext {
  readonly policyId: string;
  /** The version that the next batch is trained on. */
  readonly version: number;
  readonly rules: PlanRules;
  readonly readiness: Readiness;
}

/**
 * Rules that look at the whole group: once one member was recorded by one of them, the others follow it, whatever was revised
 * since.
 */
const OF_GROUPS: readonly Rejection['reason'][] = ['zero-variance', 'singleton', 'incomplete-group', 'filtered'];

/**
 * Judges a group for the next batch by what was known of it at a moment, ms since 1970. Members are looked at one by one first:
 * statistics are over those that are left, so that a rejected rollout never leaks into a baseline. A group that waits only loses
 * what is stale, which waiting makes staler: one that never closes holds nothing for ever.
 */
export function judgeGroup(group: PoolGroup, context: GroupContext, atMs: number): Judgement {
  const faults = new Map<PoolSample, Rejection>();
  for (const sample of group.samples) {
    const fault = sample.rejected ?? (isLate(sample, group) ? LATE : faultOf(sample, context));
    if (fault !== null) faults.set(sample, fault);
  }
  const stale = group.samples.filter((sample) => faults.get(sample)?.reason === 'stale');
  const wait = (what: 'group' | 'reward' | 'greedy-sibling'): Judgement => {
    return { kind: 'waiting', for: what, rejected: unrecorded(group, stale, faults) };
  };
  if (group.closedMs === null || group.closedMs > atMs) return wait('group');
  if (group.taken) return refuse(group, faults, LATE);
  const begun = group.samples.find((sample) => isOfGroup(sample, context))?.rejected;
  if (begun) return refuse(group, faults, begun);
  const fit = group.samples.filter((sample) => !faults.has(sample));
  const unscored = fit.filter(({ scoredMs }) => scoredMs === null || scoredMs > atMs);
  if (unscored.length > 0 && context.rules.unscored === 'wait') return wait('reward');
  for (const sample of unscored) {
    const rule = `its group closed before it had a reward of component ${context.rules.metric}`;
    faults.set(sample, { reason: 'unscored', rule, measured: null });
  }
  const scored = fit.filter((sample) => !faults.has(sample));
  const greedy = group.greedyMs !== null && group.greedyMs <= atMs;
  if (context.readiness.waitsFor === 'greedy-sibling' && !greedy && scored.length > 0) return wait('greedy-sibling');
  return chooseMembers(group, scored, faults, context);
}

const LATE: Rejection = { reason: 'not-needed', rule: 'it finished after its group had closed', measured: null };

/** A planner that looked as the group closed judged it without such a member; one that looks later does the same. */
function isLate({ finishedMs }: PoolSample, { closedMs, taken }: PoolGroup): boolean {
  return taken || (closedMs !== null && finishedMs > closedMs);
}

/**
 * Whether a member was refused with its group. `filtered` is said of single members too: of one that a limit cut, its group
 * remains.
 */
function isOfGroup(sample: PoolSample, context: GroupContext): boolean {
  const { rejected } = sample;
  return rejected !== null && OF_GROUPS.includes(rejected.reason) && faultOf(sample, context)?.reason !== rejected.reason;
}

function chooseMembers(
  group: PoolGroup,
  scored: readonly PoolSample[],
  faults: Map<PoolSample, Rejection>,
  context: GroupContext,
): Judgement {
  const { rules, readiness } = context;
  const needed = rules.group.kind === 'at-least' ? rules.group.members : group.planned;
  const members = group.samples.filter((sample) => !isLate(sample, group)).length;
  if (scored.length < needed || (rules.group.kind === 'all' && scored.length < members)) {
    const rule = `${scored.length} of ${Math.max(needed, members)} members are fit, the rule is ${wordsOf(rules)}`;
    return refuse(group, faults, { reason: 'incomplete-group', rule, measured: scored.length });
  }
  const chosen = rules.group.kind === 'replace-failed' ? scored.slice(0, needed) : scored;
  for (const sample of scored.slice(chosen.length)) {
    const rule = `its group has the ${needed} fit members that were planned without it`;
    faults.set(sample, { reason: 'not-needed', rule, measured: scored.length });
  }
  const refusal = findGroupFault(chosen, rules, readiness);
  if (refusal !== null) return refuse(group, faults, refusal);
  return { kind: 'fit', chosen, rejected: unrecorded(group, [...faults.keys()], faults) };
}

function findGroupFault(chosen: readonly PoolSample[], rules: PlanRules, readiness: Readiness): Rejection | null {
  if (chosen.length < Math.max(1, readiness.groupSize)) {
    const rule = `the estimator compares ${readiness.groupSize} members of a group`;
    return { reason: 'singleton', rule, measured: chosen.length };
  }
  const totals = chosen.map(({ scores }) => trainedTotal(scores, rules));
  const [least, most] = totals.reduce(
    ([low, high], total) => [Math.min(low, total), Math.max(high, total)],
    [Infinity, -Infinity],
  );
  if (rules.zeroVariance === 'reject' && chosen.length > 1 && most - least <= TOLERANCE * Math.max(1, Math.abs(most))) {
    const rule = `the reward that is trained on is the same for all ${chosen.length} members`;
    return { reason: 'zero-variance', rule, measured: most };
  }
  const metrics = chosen.map(({ scores }) => scores[rules.metric] ?? 0); // every scored member has the component
  const mean = meanAmount(metrics) ?? 0; // a group has a member
  if (rules.band !== null && (mean < rules.band.low || mean > rules.band.high)) {
    const rule = `the mean of ${rules.metric} must lie from ${rules.band.low} to ${rules.band.high}`;
    return { reason: 'filtered', rule, measured: mean };
  }
  return null;
}

/** What a member is trained on: its components by their weights. */
function trainedTotal(scores: PoolSample['scores'], { rewards }: PlanRules): number {
  return sumAmounts(Object.entries(scores).map(([component, value]) => weightOf(rewards, component) * value));
}

/** Weights times values are rounded: totals that are equal on paper differ in the last bits, and what counts differs by more. */
const TOLERANCE = 1e-9;

function faultOf(sample: PoolSample, { policyId, version, rules, readiness }: GroupContext): Rejection | null {
  const { outcome, oldestVersion } = sample;
  if (outcome === 'failed' || outcome === 'cancelled')
    return { reason: outcome, rule: `the rollout was ${outcome}`, measured: null };
  if (sample.steps === 0 || sample.sampledTokens === 0 || oldestVersion === null)
    return { reason: 'empty', rule: 'no token of it was sampled', measured: sample.steps };
  const foreign = sample.policies.find((policy) => policy !== policyId);
  if (foreign !== undefined)
    return { reason: 'foreign-policy', rule: cutText(`spans of it were sampled by ${foreign}`, 2_000), measured: null };
  if (rules.maxStaleness !== null && version - oldestVersion > rules.maxStaleness) {
    const rule = `its oldest span is of version ${oldestVersion}, the next batch takes ${version - rules.maxStaleness} and newer`;
    return { reason: 'stale', rule, measured: version - oldestVersion };
  }
  if (outcome === 'truncated' && rules.truncated === 'reject')
    return { reason: 'filtered', rule: 'a limit cut the rollout', measured: sample.steps };
  const length = lengthOf(sample, rules);
  const limit = Math.min(rules.maxTokens ?? rules.tokenBudget, rules.tokenBudget);
  if (length > limit) return { reason: 'too-long', rule: `at most ${limit} tokens`, measured: length };
  if (readiness.columns.includes('anchors') && sample.withoutAnchor > 0)
    return {
      reason: 'incomplete-record',
      rule: 'every step needs the hash of the state before it',
      measured: sample.withoutAnchor,
    };
  if (rules.offPolicy === 'log-probs' && oldestVersion < version && sample.withoutLogProbs > 0) {
    const rule = 'a sample of an older version needs the log-probabilities of its tokens';
    return { reason: 'incomplete-record', rule, measured: sample.withoutLogProbs };
  }
  return sample.recordFault;
}

/** The tokens of a sample in the layout in which it is trained. */
export function lengthOf(sample: PoolSample, { layout }: Pick<PlanRules, 'layout'>): number {
  return layout === 'verl' ? sample.contextTokens : sample.rowTokens;
}

function refuse(group: PoolGroup, faults: ReadonlyMap<PoolSample, Rejection>, rest: Rejection): Judgement {
  const all = new Map(group.samples.map((sample) => [sample, faults.get(sample) ?? rest]));
  return { kind: 'refused', rejected: unrecorded(group, group.samples, all) };
}

function unrecorded(
  { treeId }: PoolGroup,
  samples: readonly PoolSample[],
  faults: ReadonlyMap<PoolSample, Rejection>,
): readonly RejectedSample[] {
  return samples.flatMap((sample) => {
    const fault = sample.rejected === null ? faults.get(sample) : undefined;
    return fault === undefined ? [] : [{ treeId, rolloutId: sample.rolloutId, ...fault }];
  });
}

function wordsOf({ group }: PlanRules): string {
  return group.kind === 'at-least' ? `at least ${group.members}` : group.kind === 'all' ? 'all' : 'as many as planned';
}
