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
  return rowsWhere(trx, 'trees', { treeId: treeIds }, [
    ...(['treeId', 'runId', 'taskId', 'environment', 'serverFingerprint', 'alias', 'goal', 'taskDepth', 'split'] as const),
    ...(['toolsKwargs', 'instruction', 'seed', 'blobs'] as const),
  ]);
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
  const columns = [
    ...(['treeId', 'rolloutId', 'fromStepId', 'leafStepId', 'ordinal', 'seed', 'policyId', 'policyVersion'] as const),
    ...(['outcome', 'success', 'startedAt', 'finishedAt'] as const),
  ];
  return rowsWhere(trx, 'rollouts', { treeId: treeIds }, columns, ['treeId', 'ordinal', 'rolloutId']);
}

async function readRewards(trx: Db, treeIds: readonly string[]): Promise<readonly (TreeReward & { readonly treeId: string })[]> {
  const columns = ['treeId', 'stepId', 'rolloutId', 'component', 'value'] as const;
  return rowsWhere(trx, 'rewards', { treeId: treeIds }, columns, ['treeId', 'rewardId']);
}
