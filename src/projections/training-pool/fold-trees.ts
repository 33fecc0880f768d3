import { sql } from 'kysely';
import type { Delivery } from '../../events/envelope.ts';
import { insertFresh } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { exactSum } from '../../postgres/exact-sum.ts';
import { sideBySide } from '../../postgres/side-by-side.ts';
import { keyInTree, keyOf, type OfTree, pairsOf } from '../of-tree.ts';
import { isOf } from '../projection.ts';
import { mergeRows } from './merge-rows.ts';
import { readCurrentRewards, reviseRewards } from './revise-rewards.ts';
import * as row from './rows.ts';
import { lockClosed, settleGroups } from './settled-samples.ts';
import { tables } from './tables.ts';

/**
 * Folds the events of trees: groups, and samples, steps and rewards by their ids in their tree, and the sums of samples that
 * changed. Groups that are closed with it, or were before, are counted where nothing is owed of them.
 */
export async function foldTrees(batch: readonly Delivery[], trx: Trx): Promise<void> {
  const groups: row.GroupPart[] = [];
  const samples: row.SamplePart[] = [];
  const steps = new Map<string, row.StepRow>(); // by `keyInTree`, and so what follows
  const rewards = new Map<string, row.RewardRow>();
  const touched = { rollouts: new Map<string, OfTree>(), steps: new Map<string, OfTree>() };
  const touch = (what: keyof typeof touched, of: OfTree) => touched[what].set(keyOf(of), of);
  const moved = new Set<string>(); // trees of whose samples or whose end it says something
  const closed: string[] = [];
  for (const delivery of batch) {
    if (!isOf(delivery, 'RewardAssigned') && !isOf(delivery, 'RewardRevised') && 'treeId' in delivery.event.data)
      moved.add(delivery.event.data.treeId);
    if (isOf(delivery, 'TreeOpened')) groups.push(row.openedPart(delivery.event));
    if (isOf(delivery, 'TreeClosed')) {
      groups.push(row.closedPart(delivery.event));
      closed.push(delivery.event.data.treeId);
    }
    if (isOf(delivery, 'RolloutStarted')) samples.push(row.startedPart(delivery.event));
    if (isOf(delivery, 'RolloutFinished')) {
      samples.push(row.finishedPart(delivery.event));
      const { treeId, rolloutId: id } = delivery.event.data;
      touch('rollouts', { treeId, id });
    }
    if (isOf(delivery, 'StepTaken')) {
      const { treeId, stepId, rolloutId } = delivery.event.data;
      if (rolloutId === null) continue; // a candidate of a search: no rollout took it
      const key = keyInTree(treeId, stepId);
      if (!steps.has(key)) steps.set(key, row.stepRow(delivery.event.data, rolloutId));
      touch('rollouts', { treeId, id: rolloutId });
    }
    if (isOf(delivery, 'RewardAssigned')) {
      const { treeId, rewardId, rolloutId, stepId } = delivery.event.data;
      const key = keyInTree(treeId, rewardId);
      if (!rewards.has(key)) rewards.set(key, row.rewardRow(delivery.event));
      if (rolloutId !== null) touch('rollouts', { treeId, id: rolloutId });
      else if (stepId !== null) touch('steps', { treeId, id: stepId });
    }
  }
  const [late, , , , current] = await sideBySide(
    () => (moved.size === 0 ? [] : lockClosed(trx, sql`${[...moved]}::uuid[]`)),
    () => mergeRows(trx, tables.groups, groups, row.GROUP_PARTS),
    () => mergeRows(trx, tables.samples, samples, row.SAMPLE_PARTS),
    () => insertFresh(trx, tables.sampleSteps, [...steps.values()]),
    () => readCurrentRewards(batch, trx),
    () => insertFresh(trx, tables.sampleRewards, [...rewards.values()]),
  );
  const revised = await reviseRewards(batch, current, trx);
  for (const { treeId, rolloutId, stepId } of revised) {
    if (rolloutId !== null) touch('rollouts', { treeId, id: rolloutId });
    else if (stepId !== null) touch('steps', { treeId, id: stepId });
  }
  const settled = new Set([...late, ...closed]);
  await sideBySide(
    () => sumSamples(trx, [...touched.rollouts.values()], [...touched.steps.values()]),
    () => settleGroups(trx, [...settled]),
  );
}

/**
 * Sums the steps and rewards of finished samples again: of the rollouts named, and of those that took the steps named. What comes
 * out is a function of the rows that are there, so any order and any cut of the events ends in the same sums; those of
 * rewards are exact. A reward that names a step and a rollout
 * counts where that rollout took the step, and for nobody else, as in the rows of batches (`training/rows`). `offset 0` keeps
 * each look-up on its index: Postgres would read whole tables. The steps of a sample are read once (a third of the time).
 */
async function sumSamples(trx: Trx, rollouts: readonly OfTree[], steps: readonly OfTree[]): Promise<void> {
  if (rollouts.length + steps.length === 0) return;
  await sql`
    with touched as (
      select w.tree_id, w.id from ${pairsOf(rollouts)} w
      union
      select w.tree_id, s.rollout_id from ${pairsOf(steps)} w cross join lateral (
        select rollout_id from sample_steps where step_id = w.id and tree_id = w.tree_id offset 0) s
    )
    update samples s set
      taken = t.taken, sampled_tokens = t.sampled_tokens, context_tokens = t.context_tokens, row_tokens = t.row_tokens,
      oldest_version = t.oldest_version, newest_version = t.newest_version, policies = p.policies, without_tokens = t.without_tokens,
      without_log_probs = t.without_log_probs, without_anchor = t.without_anchor, scores = w.scores, scored_at = w.scored_at
    from touched
    cross join lateral (
      select count(*) as taken, coalesce(sum(sampled_tokens), 0) as sampled_tokens, coalesce(max(context_tokens), 0) as context_tokens,
             coalesce(sum(context_tokens), 0) as row_tokens, min(oldest_version) as oldest_version, max(newest_version) as newest_version,
             count(*) filter (where not has_tokens) as without_tokens, count(*) filter (where not has_log_probs) as without_log_probs,
             count(*) filter (where not has_anchor) as without_anchor, array_agg(step_id) as steps, array_agg(policies) as named
      from (select * from sample_steps where rollout_id = touched.id and tree_id = touched.tree_id offset 0) each
    ) t
    cross join lateral (
      select coalesce(jsonb_agg(distinct policy order by policy), '[]') as policies
      from unnest(t.named) as each (policies), jsonb_array_elements(each.policies) as policy
    ) p
    cross join lateral (
      select coalesce(jsonb_object_agg(component, total), '{}') as scores, coalesce(jsonb_object_agg(component, since), '{}') as scored_at
      from (
        select component, ${exactSum(sql`value`)} as total,
          (extract(epoch from min(assigned_at)) * 1000)::bigint as since from (
          (select component, value, assigned_at from sample_rewards r where rollout_id = touched.id and tree_id = touched.tree_id
             and (r.step_id is null or r.step_id = any(t.steps)) offset 0)
          union all
          (select component, value, assigned_at from sample_rewards
            where step_id = any(t.steps) and tree_id = touched.tree_id and rollout_id is null offset 0)
        ) of_sample group by component
      ) by_component
    ) w
    where s.rollout_id = touched.id and s.tree_id = touched.tree_id and s.finished_at is not null`.execute(trx);
}
