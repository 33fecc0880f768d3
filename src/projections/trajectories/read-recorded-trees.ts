import { sql } from 'kysely';
import { groupBy } from '../../domain/group-by.ts';
import { growTree } from '../../domain/tree/grow-tree.ts';
import { indexRewards, type TreeReward } from '../../domain/tree/trajectory.ts';
import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { tokensAsJson } from '../step-tree/token-bytes.ts';
import type { RecordedRollout, RecordedStep, RecordedTree, TreeHead } from './recorded-tree.ts';

/** Reads trees whole, in four statements for all of them, and grows each in memory. Trees that are not there are left out. */
export async function readRecordedTrees(trx: Db, treeIds: readonly string[]): Promise<ReadonlyMap<string, RecordedTree>> {
  const heads = await readHeads(trx, treeIds);
  const steps = groupBy(await readSteps(trx, treeIds), ({ treeId }) => treeId);
  const rollouts = groupBy(await readRollouts(trx, treeIds), ({ treeId }) => treeId);
  const rewards = groupBy(await readRewards(trx, treeIds), ({ treeId }) => treeId);
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
export async function weighTrees(trx: Db, treeIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ treeId: string; bytes: number }>`
    select tree_id, sum(
      500 + octet_length(response) + octet_length(thought) + octet_length(action) + octet_length(observation)
      + coalesce(octet_length(reply::text), 0)
      + coalesce(pg_column_size(token_json), octet_length(token_bytes) * 4 / 3, 0))::bigint as bytes
    from steps where tree_id = any(${[...treeIds]}::uuid[]) group by tree_id`.execute(trx);
  return new Map(rows.map(({ treeId, bytes }) => [treeId, bytes]));
}

async function readHeads(trx: Db, treeIds: readonly string[]): Promise<readonly TreeHead[]> {
  const { rows } = await sql<TreeHead>`
    select tree_id, run_id, task_id, environment, server_fingerprint, alias,
           goal, task_depth, split, instruction, seed, blobs
    from trees where tree_id = any(${[...treeIds]}::uuid[])`.execute(trx);
  return rows;
}

async function readSteps(trx: Db, treeIds: readonly string[]): Promise<readonly RecordedStep[]> {
  const { rows } = await sql<RecordedStep>`
    select tree_id, step_id, parent_step_id, rollout_id, depth, response,
           thought, reply, action, observation, well_formatted, executable, termination, policy_spans,
           ${tokensAsJson('steps')} as tokens, prompt_tokens, completion_tokens, finish_reason,
           state_hash, blobs
    from steps where tree_id = any(${[...treeIds]}::uuid[]) order by tree_id, log_offset`.execute(trx);
  return rows;
}

async function readRollouts(trx: Db, treeIds: readonly string[]): Promise<readonly RecordedRollout[]> {
  const { rows } = await sql<RecordedRollout>`
    select tree_id, rollout_id, from_step_id, leaf_step_id, ordinal, seed,
           policy_id, policy_version, outcome, success, started_at,
           finished_at
    from rollouts where tree_id = any(${[...treeIds]}::uuid[]) order by tree_id, ordinal, rollout_id`.execute(trx);
  return rows;
}

async function readRewards(trx: Db, treeIds: readonly string[]): Promise<readonly (TreeReward & { readonly treeId: string })[]> {
  const rows = await rowsWhere(
    trx,
    'rewards',
    { treeId: treeIds },
    ['treeId', 'stepId', 'rolloutId', 'component', 'value'],
    ['treeId', 'rewardId'],
  );
  return rows;
}
