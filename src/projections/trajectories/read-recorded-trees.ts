import { sql } from 'kysely';
import { growTree } from '../../domain/tree/grow-tree.ts';
import { indexRewards, type TreeReward } from '../../domain/tree/trajectory.ts';
import type { Trx } from '../../postgres/database.ts';
import type { RecordedRollout, RecordedStep, RecordedTree, TreeHead } from './recorded-tree.ts';

/** Reads trees whole, in four statements for all of them, and grows each in memory. Trees that are not there are left out. */
export async function readRecordedTrees(trx: Trx, treeIds: readonly string[]): Promise<ReadonlyMap<string, RecordedTree>> {
  const heads = await readHeads(trx, treeIds);
  const steps = groupByTree(await readSteps(trx, treeIds));
  const rollouts = groupByTree(await readRollouts(trx, treeIds));
  const rewards = groupByTree(await readRewards(trx, treeIds));
  const trees = new Map<string, RecordedTree>();
  for (const head of heads) {
    trees.set(head.treeId, {
      head,
      tree: growTree(steps.get(head.treeId) ?? []),
      rollouts: new Map((rollouts.get(head.treeId) ?? []).map((rollout) => [rollout.rolloutId, rollout])),
      rewards: indexRewards(rewards.get(head.treeId) ?? []),
    });
  }
  return trees;
}

/** Returns the bytes of text and tokens that each tree's rows hold. Postgres knows the sizes without reading the texts. */
export async function weighTrees(trx: Trx, treeIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ treeId: string; bytes: number }>`
    select tree_id as "treeId", sum(
      500 + octet_length(response) + octet_length(thought) + octet_length(action) + octet_length(observation)
      + coalesce(pg_column_size(tokens), 0))::bigint as bytes
    from steps where tree_id = any(${[...treeIds]}::uuid[]) group by tree_id`.execute(trx);
  return new Map(rows.map(({ treeId, bytes }) => [treeId, bytes]));
}

async function readHeads(trx: Trx, treeIds: readonly string[]): Promise<readonly TreeHead[]> {
  const { rows } = await sql<TreeHead>`
    select tree_id as "treeId", run_id as "runId", task_id as "taskId", environment, server_fingerprint as "serverFingerprint", alias,
           goal, task_depth as "taskDepth", split, instruction, seed, blobs
    from trees where tree_id = any(${[...treeIds]}::uuid[])`.execute(trx);
  return rows;
}

async function readSteps(trx: Trx, treeIds: readonly string[]): Promise<readonly RecordedStep[]> {
  const { rows } = await sql<RecordedStep>`
    select tree_id as "treeId", step_id as "stepId", parent_step_id as "parentStepId", rollout_id as "rolloutId", depth, response,
           thought, action, observation, well_formatted as "wellFormatted", executable, termination, policy_spans as "policySpans",
           tokens, prompt_tokens as "promptTokens", completion_tokens as "completionTokens", finish_reason as "finishReason",
           state_hash as "stateHash", blobs
    from steps where tree_id = any(${[...treeIds]}::uuid[]) order by tree_id, log_offset`.execute(trx);
  return rows;
}

async function readRollouts(trx: Trx, treeIds: readonly string[]): Promise<readonly RecordedRollout[]> {
  const { rows } = await sql<RecordedRollout>`
    select tree_id as "treeId", rollout_id as "rolloutId", from_step_id as "fromStepId", leaf_step_id as "leafStepId", ordinal, seed,
           policy_id as "policyId", policy_version as "policyVersion", outcome, success, started_at as "startedAt",
           finished_at as "finishedAt"
    from rollouts where tree_id = any(${[...treeIds]}::uuid[]) order by tree_id, ordinal, rollout_id`.execute(trx);
  return rows;
}

/** By id, so that floating-point sums have one order in every database that holds the same rewards. */
async function readRewards(trx: Trx, treeIds: readonly string[]): Promise<readonly (TreeReward & { readonly treeId: string })[]> {
  const { rows } = await sql<TreeReward & { readonly treeId: string }>`
    select tree_id as "treeId", step_id as "stepId", rollout_id as "rolloutId", component, value
    from rewards where tree_id = any(${[...treeIds]}::uuid[]) order by tree_id, reward_id`.execute(trx);
  return rows;
}

function groupByTree<Row extends { readonly treeId: string }>(rows: readonly Row[]): ReadonlyMap<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const group = groups.get(row.treeId);
    if (group) group.push(row);
    else groups.set(row.treeId, [row]);
  }
  return groups;
}
