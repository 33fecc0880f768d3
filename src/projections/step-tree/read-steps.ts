import { type RawBuilder, sql } from 'kysely';
import type { DataOf } from '../../events/catalogue.ts';
import type { Blobs } from '../../postgres/column-types.ts';
import type { Db } from '../../postgres/database.ts';
import { type OfTree, pairsOf } from '../of-tree.ts';
import { tokensAsJson } from './token-bytes.ts';

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
  readonly reply: DataOf<'StepTaken'>['reply'] | null;
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
  readonly tokens: DataOf<'StepTaken'>['tokens'];
  readonly usage: { readonly promptTokens: number; readonly completionTokens: number } | null;
  readonly finishReason: string | null;
  readonly call: DataOf<'StepTaken'>['call'];
  readonly timings: { readonly policyMs: number; readonly environmentMs: number };
  readonly stateHash: string | null;
  readonly admissibleActions: readonly string[] | null;
  readonly occurredAt: Date;
  readonly blobs: Blobs | null;
}

/** The fields of a step that are read only when asked for: texts are up to 64 KiB each, and a tree has thousands of steps. */
const COLUMNS = {
  depth: sql`s.depth`,
  response: sql`s.response`,
  thought: sql`s.thought`,
  reply: sql`s.reply`,
  action: sql`s.action`,
  observation: sql`s.observation`,
  wellFormatted: sql`s.well_formatted`,
  executable: sql`s.executable`,
  termination: sql`s.termination`,
  policySpans: sql`s.policy_spans`,
  tokens: sql`${tokensAsJson('s')} as tokens`,
  usage: sql`s.prompt_tokens, s.completion_tokens`,
  finishReason: sql`s.finish_reason`,
  call: sql`s.call`,
  timings: sql`s.policy_ms, s.environment_ms`,
  stateHash: sql`s.state_hash`,
  admissibleActions: sql`s.admissible as admissible_actions`,
  occurredAt: sql`s.occurred_at`,
} as const satisfies Partial<Record<keyof StepRecord, RawBuilder<unknown>>>;

export type StepField = keyof typeof COLUMNS;
export const STEP_FIELDS = Object.keys(COLUMNS) as readonly StepField[]; // the keys of the line above
/** A step with the fields that were asked for, and always what links it: its ids, its place in the log, its large texts. */
export type StepPart<Field extends StepField = StepField> = Pick<StepRecord, Exclude<keyof StepRecord, StepField> | Field>;

/** Reads steps, in one statement, in no order; those that are unknown are left out. */
export async function readSteps(db: Db, steps: readonly OfTree[]): Promise<readonly StepRecord[]> {
  return selected(db, STEP_FIELDS, sql`${pairsOf(steps)} w join steps s on s.step_id = w.id and s.tree_id = w.tree_id`);
}

/** Reads steps by their ids alone, likewise; of an id that several trees have, all. */
export async function readStepsById(db: Db, ids: readonly string[]): Promise<readonly StepRecord[]> {
  return selected(db, STEP_FIELDS, sql`steps s where s.step_id = any(${[...ids]}::uuid[])`);
}

/**
 * Reads the first `limit` steps of each tree after an offset of the log, in the order in which the tree grew: parents before
 * children.
 */
export async function readStepsOfTrees<Field extends StepField>(
  db: Db,
  trees: readonly string[],
  part: { readonly afterOffset: number; readonly limit: number; readonly fields: readonly Field[] },
): Promise<readonly StepPart<Field>[]> {
  const from = sql`
    unnest(${[...trees]}::uuid[]) as t(tree_id)
    cross join lateral (
      select * from steps where tree_id = t.tree_id and log_offset > ${part.afterOffset} order by log_offset limit ${part.limit}
    ) s
    order by s.tree_id, s.log_offset`;
  return selected(db, part.fields, from);
}

/** Reads the children of steps, oldest first. The trees of the steps narrow the search: `steps` is indexed by tree. */
export async function readChildren(db: Db, trees: readonly string[], parents: readonly string[]): Promise<readonly StepRecord[]> {
  const from = sql`
    steps s where s.tree_id = any(${[...trees]}::uuid[]) and s.parent_step_id = any(${[...parents]}::uuid[])
    order by s.tree_id, s.log_offset`;
  return selected(db, STEP_FIELDS, from);
}

/** Reads the steps of trees that have no child, oldest first. */
export async function readLeaves(db: Db, trees: readonly string[]): Promise<readonly StepRecord[]> {
  const from = sql`
    steps s
    where s.tree_id = any(${[...trees]}::uuid[])
      and not exists (
        select from steps c
        where c.tree_id = any(${[...trees]}::uuid[]) and c.tree_id = s.tree_id and c.parent_step_id = s.step_id)
    order by s.tree_id, s.log_offset`;
  return selected(db, STEP_FIELDS, from);
}

async function selected<Field extends StepField>(
  db: Db,
  fields: readonly Field[],
  from: RawBuilder<unknown>,
): Promise<readonly StepPart<Field>[]> {
  const links = sql`s.step_id as id, s.tree_id, s.parent_step_id as parent_id, s.rollout_id,
    s.log_offset, s.blobs`;
  const columns = [links, ...fields.map((field) => COLUMNS[field])];
  const { rows } = await sql<Row>`select ${sql.join(columns)} from ${from}`.execute(db);
  for (const row of rows) assemble(row, fields);
  // COLUMNS names each plain field, `assemble` makes the two that are objects
  return rows as unknown as readonly StepPart<Field>[];
}

/**
 * The fields that are objects, made in place: a tree of a thousand steps is read in milliseconds, and copying it takes as long.
 */
interface Row {
  promptTokens?: number | null;
  completionTokens?: number | null;
  policyMs?: number;
  environmentMs?: number;
  usage?: StepRecord['usage'];
  timings?: StepRecord['timings'];
}

function assemble(row: Row, fields: readonly StepField[]): void {
  if (fields.includes('usage')) {
    const { promptTokens = null, completionTokens } = row;
    row.usage = promptTokens === null ? null : { promptTokens, completionTokens: completionTokens ?? 0 };
  }
  if (fields.includes('timings')) row.timings = { policyMs: row.policyMs ?? 0, environmentMs: row.environmentMs ?? 0 };
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
    select t.tree_id, s.steps, s.depth, s.steps - p.parents as leaves from unnest(${[...trees]}::uuid[]) as t (tree_id)
    cross join lateral (select count(*) as steps, max(s.depth) as depth from steps s where s.tree_id = t.tree_id) s
    cross join lateral (select count(distinct s.parent_step_id) as parents from steps s where s.tree_id = t.tree_id) p
    where s.steps > 0`.execute(db);
  return rows;
}

/** A step, the rollout that took it, and the version of the policy that answered. */
export interface StepTaker {
  readonly stepId: string;
  readonly rolloutId: string;
  readonly policyVersion: number;
}

/** Reads which rollout took each step of a tree, in the order of the log; steps that no rollout took are left out. */
export async function readStepTakers(db: Db, treeId: string): Promise<readonly StepTaker[]> {
  const { rows } = await sql<StepTaker>`
    select step_id, rollout_id, coalesce((policy_spans #>> '{0,version}')::int, 0) as policy_version from steps
    where tree_id = ${treeId} and rollout_id is not null order by log_offset`.execute(db);
  return rows;
}

const LETTERS = 80; // of an action: what fits next to a node

/** What a drawing of a tree shows of a step. */
export interface OutlineStep {
  readonly id: string;
  readonly parentId: string | null;
  readonly action: string;
  readonly executable: boolean;
  readonly termination: 'none' | 'terminated' | 'truncated';
}

/** The steps of one tree, parents before children. */
export interface Outline {
  readonly treeId: string;
  readonly steps: readonly OutlineStep[];
}

/** Reads the first `limit` steps of trees in the order in which they grew, with no more of each than a drawing shows. */
export async function readOutlines(db: Db, trees: readonly string[], limit: number): Promise<ReadonlyMap<string, Outline>> {
  const { rows } = await sql<OutlineStep & { readonly treeId: string }>`
    select t.tree_id, s.step_id as id, s.parent_step_id as parent_id, s.action, s.executable, s.termination
    from unnest(${[...trees]}::uuid[]) as t(tree_id)
    cross join lateral (
      select step_id, parent_step_id, left(action, ${LETTERS}) as action, executable, termination, log_offset
      from steps where tree_id = t.tree_id order by log_offset limit ${limit}
    ) s
    order by t.tree_id, s.log_offset`.execute(db);
  const found = new Map(trees.map((treeId) => [treeId, { treeId, steps: [] as OutlineStep[] }]));
  for (const { treeId, ...step } of rows) found.get(treeId)?.steps.push(step);
  return found;
}
