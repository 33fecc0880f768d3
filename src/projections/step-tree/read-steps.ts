import { type Selectable, sql } from 'kysely';
import type { Packed } from '../../events/schemas/values.ts';
import type { Db } from '../../postgres/database.ts';
import type { Blobs, StepsTable } from '../../postgres/tables.ts';

export interface StepRecord {
  readonly id: string;
  readonly treeId: string;
  readonly parentId: string | null;
  readonly rolloutId: string | null;
  readonly depth: number;
  readonly logOffset: number;
  /** Texts are '' where `blobs` names their field: they lie in the blob store. */
  readonly response: string;
  readonly thought: string;
  readonly action: string;
  readonly observation: string;
  readonly wellFormatted: boolean;
  readonly executable: boolean;
  readonly termination: string;
  readonly policySpans: readonly {
    readonly from: number;
    readonly to: number;
    readonly policyId: string;
    readonly version: number;
  }[];
  readonly tokens: { readonly ids: Packed; readonly logProbs: Packed | null; readonly mask: Packed | null } | null;
  readonly usage: { readonly promptTokens: number; readonly completionTokens: number } | null;
  readonly finishReason: string | null;
  readonly timings: { readonly policyMs: number; readonly environmentMs: number };
  readonly stateHash: string | null;
  readonly admissibleActions: readonly string[] | null;
  readonly occurredAt: Date;
  readonly blobs: Blobs | null;
}

/** Reads steps by their ids, in one statement, in no order; ids that are unknown are left out. */
export async function readStepsById(db: Db, ids: readonly string[]): Promise<readonly StepRecord[]> {
  const rows = await sql<Selectable<StepsTable>>`select * from steps where step_id = any(${[...ids]}::uuid[])`.execute(db);
  return rows.rows.map(toStep);
}

/** Reads the first `limit` steps of each tree after an offset of the log, in the order in which the tree grew: parents before children. */
export async function readStepsOfTrees(db: Db, trees: readonly string[], afterOffset: number, limit: number) {
  const { rows } = await sql<Selectable<StepsTable>>`
    select s.* from unnest(${[...trees]}::uuid[]) as t(tree_id)
    cross join lateral (
      select * from steps where tree_id = t.tree_id and log_offset > ${afterOffset} order by log_offset limit ${limit}
    ) s
    order by s.tree_id, s.log_offset`.execute(db);
  return rows.map(toStep);
}

/** Reads the children of steps, oldest first. The trees of the steps narrow the search: `steps` is indexed by tree. */
export async function readChildren(db: Db, trees: readonly string[], parents: readonly string[]): Promise<readonly StepRecord[]> {
  const { rows } = await sql<Selectable<StepsTable>>`
    select * from steps
    where tree_id = any(${[...trees]}::uuid[]) and parent_step_id = any(${[...parents]}::uuid[])
    order by tree_id, log_offset`.execute(db);
  return rows.map(toStep);
}

/** Reads the steps of trees that have no child, oldest first. */
export async function readLeaves(db: Db, trees: readonly string[]): Promise<readonly StepRecord[]> {
  const { rows } = await sql<Selectable<StepsTable>>`
    select s.* from steps s
    where s.tree_id = any(${[...trees]}::uuid[])
      and not exists (
        select from steps c
        where c.tree_id = any(${[...trees]}::uuid[]) and c.tree_id = s.tree_id and c.parent_step_id = s.step_id)
    order by s.tree_id, s.log_offset`.execute(db);
  return rows.map(toStep);
}

export interface TreeSize {
  readonly treeId: string;
  readonly steps: number;
  readonly depth: number;
  readonly leaves: number;
}

/** Measures trees: their steps with the root, their greatest depth, their leaves. */
export async function readTreeSizes(db: Db, trees: readonly string[]): Promise<readonly TreeSize[]> {
  const { rows } = await sql<TreeSize>`
    select tree_id as "treeId", count(*) as steps, max(depth) as depth, count(*) - count(distinct parent_step_id) as leaves
    from steps where tree_id = any(${[...trees]}::uuid[]) group by tree_id`.execute(db);
  return rows;
}

function toStep(row: Selectable<StepsTable>): StepRecord {
  return {
    id: row.step_id,
    treeId: row.tree_id,
    parentId: row.parent_step_id,
    rolloutId: row.rollout_id,
    depth: row.depth,
    logOffset: row.log_offset,
    response: row.response,
    thought: row.thought,
    action: row.action,
    observation: row.observation,
    wellFormatted: row.well_formatted,
    executable: row.executable,
    termination: row.termination,
    policySpans: row.policy_spans,
    tokens: row.tokens as StepRecord['tokens'], // the schema of StepTaken checked it before it was written
    usage: row.prompt_tokens === null ? null : { promptTokens: row.prompt_tokens, completionTokens: row.completion_tokens ?? 0 },
    finishReason: row.finish_reason,
    timings: { policyMs: row.policy_ms, environmentMs: row.environment_ms },
    stateHash: row.state_hash,
    admissibleActions: row.admissible,
    occurredAt: row.occurred_at,
    blobs: row.blobs,
  };
}
