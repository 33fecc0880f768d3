import { type RawBuilder, sql } from 'kysely';
import { idSums } from '../id-sums.ts';

/** Stands for the policy of steps that no rollout took. */
const NO_POLICY = sql`coalesce(o.policy_id, '') as policy_id, coalesce(o.policy_version, -1) as policy_version`;

const ROLLOUTS_OF_TREE = sql`(
      select o.rollout_id, o.policy_id, o.policy_version, o.finished_at, o.success from rollouts o where o.tree_id = t.tree_id offset 0)`;

/** What is summed up of steps, by the columns that an index of their tree holds. Sums of doubles have one order. */
const STEP_PARTS = sql`count(*) as steps, count(*) filter (where s.well_formatted) as well_formatted,
        count(*) filter (where s.executable) as executable, count(s.prompt_tokens) as prompts, sum(s.prompt_tokens) as prompt_tokens,
        min(s.prompt_tokens) as prompt_min, max(s.prompt_tokens) as prompt_max, count(s.completion_tokens) as responses,
        sum(s.completion_tokens) as completion_tokens, min(s.completion_tokens) as response_min,
        max(s.completion_tokens) as response_max, sum(s.policy_ms order by s.step_id) as policy_ms,
        sum(s.environment_ms order by s.step_id) as environment_ms, ${idSums(sql`s.step_id`)}`;

const total = (column: string) => sql`coalesce(sum(s.${sql.ref(column)}), 0)::bigint as ${sql.ref(column)}`;

/** What the rollouts of a tree did, and the steps in it, by the version of the policy that acted: a row of `tree_sums`. */
const ROLLOUTS_AND_STEPS = sql`
    select ${NO_POLICY}, count(o.rollout_id) as rollouts, count(o.finished_at) as finished, count(o.success) as judged,
      count(*) filter (where o.success) as successes, count(s.rollout_id) as walked,
      ${sql.join(['steps', 'well_formatted', 'executable', 'prompts', 'prompt_tokens'].map(total))},
      min(s.prompt_min) as prompt_min, max(s.prompt_max) as prompt_max, ${total('responses')}, ${total('completion_tokens')},
      min(s.response_min) as response_min, max(s.response_max) as response_max, coalesce(sum(c.cut), 0)::bigint as cut,
      coalesce(sum(s.policy_ms order by s.rollout_id), 0) as policy_ms,
      coalesce(sum(s.environment_ms order by s.rollout_id), 0) as environment_ms, ${total('ids_one')}, ${total('ids_other')}
    from ${ROLLOUTS_OF_TREE} o
    full join (
      select s.rollout_id, ${STEP_PARTS} from steps s where s.tree_id = t.tree_id and s.depth > 0 group by s.rollout_id offset 0) s
      on s.rollout_id = o.rollout_id
    left join (
      select c.rollout_id, count(*) as cut from steps c
      where c.tree_id = t.tree_id and c.finish_reason = 'length' and c.depth > 0 and c.completion_tokens is not null
      group by c.rollout_id offset 0) c on c.rollout_id = s.rollout_id
    group by 1, 2 offset 0`;

const acted = (condition: RawBuilder<unknown>) => sql`count(*) filter (where s.depth > 0 and ${condition})`;
const actedSum = (column: string) =>
  sql`coalesce(sum(s.${sql.ref(column)}) filter (where s.depth > 0), 0)::bigint as ${sql.ref(column)}`;
const actedMs = (column: string) =>
  sql`coalesce(sum(s.${sql.ref(column)} order by s.step_id) filter (where s.depth > 0), 0) as ${sql.ref(column)}`;

/** The calls of tools in a tree, the steps that called each and the rollouts of these: a row of `tree_tools`. */
const TOOLS = sql`
    select k.tool, ${NO_POLICY}, sum(k.calls)::bigint as calls, sum(k.errors)::bigint as errors,
      sum(k.duration_ms order by k.step_id) as duration_ms, ${acted(sql`true`)} as steps, ${acted(sql`s.well_formatted`)} as well_formatted,
      ${acted(sql`s.executable`)} as executable, ${actedSum('prompt_tokens')}, ${actedSum('completion_tokens')},
      ${actedMs('policy_ms')}, ${actedMs('environment_ms')},
      coalesce(array_agg(distinct s.rollout_id) filter (where s.rollout_id is not null), '{}') as rollout_ids
    from (
      select k.step_id, k.tool, count(*) as calls, count(*) filter (where k.outcome = 'error') as errors,
        sum(k.duration_ms order by k.duration_ms) as duration_ms
      from tool_calls k where k.tree_id = t.tree_id group by k.step_id, k.tool offset 0) k
    join (
      select s.step_id, s.rollout_id, s.depth, s.well_formatted, s.executable, s.prompt_tokens, s.completion_tokens, s.policy_ms,
        s.environment_ms
      from steps s where s.tree_id = t.tree_id offset 0) s using (step_id)
    left join ${ROLLOUTS_OF_TREE} o using (rollout_id)
    group by 1, 2, 3 offset 0`;

/** Tables of sums of closed trees, each with the full count that it stands for and what names a row of a tree. */
export const TREE_SUMS = {
  tree_sums: { of: ROLLOUTS_AND_STEPS, key: ['policy_id', 'policy_version'] },
  tree_tools: { of: TOOLS, key: ['tool', 'policy_id', 'policy_version'] },
} as const;
export type TreeSumsTable = keyof typeof TREE_SUMS;
export const TREE_SUMS_TABLES = Object.keys(TREE_SUMS) as readonly TreeSumsTable[]; // its own keys

const STEPS = ['steps', 'well_formatted', 'executable'] as const;
const TIMES = ['policy_ms', 'environment_ms'] as const;
const LENGTHS = [
  ...(['prompts', 'prompt_tokens', 'prompt_min', 'prompt_max'] as const),
  ...(['responses', 'completion_tokens', 'response_min', 'response_max', 'cut'] as const),
] as const;
const COLUMNS: Readonly<Record<TreeSumsTable, readonly string[]>> = {
  tree_sums: ['rollouts', 'finished', 'judged', 'successes', 'walked', ...STEPS, ...LENGTHS, ...TIMES, 'ids_one', 'ids_other'],
  tree_tools: ['calls', 'errors', 'duration_ms', ...STEPS, 'prompt_tokens', 'completion_tokens', ...TIMES, 'rollout_ids'],
};

/** Returns the columns of a table of sums: the tree, the key within it, what is summed up. */
export function columnsOf(table: TreeSumsTable): readonly string[] {
  return ['tree_id', ...TREE_SUMS[table].key, ...COLUMNS[table]];
}

/** Returns the full count of trees, as rows of a table of sums. @param trees a relation with their ids. */
export function counted(table: TreeSumsTable, trees: RawBuilder<unknown>): RawBuilder<unknown> {
  const columns = columnsOf(table).slice(1);
  return sql`select t.tree_id, ${sql.join(columns.map((column) => sql.ref(`p.${column}`)))} from ${trees} t
    cross join lateral (${TREE_SUMS[table].of}) p`;
}

/** Returns the statement that writes the sums of trees: of new ones, and again of those that grew behind their end. */
export function writing(table: TreeSumsTable, trees: RawBuilder<unknown>): RawBuilder<unknown> {
  const key = ['tree_id', ...TREE_SUMS[table].key].map((column) => sql.ref(column));
  const sets = COLUMNS[table].map((column) => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`);
  return sql`insert into ${sql.table(table)} (${sql.join(columnsOf(table).map((column) => sql.ref(column)))}) ${counted(table, trees)}
    on conflict (${sql.join(key)}) do update set ${sql.join(sets)}`;
}

/** The trees whose sums are kept: no more is expected of them. */
export const CLOSED_TREES = sql`(select tree_id from trees where closed_at is not null)`;

const OF_TREE = sql`t.tree_id, t.run_id, t.task_id, t.environment, t.task_depth, t.kind as task_kind`;

/**
 * Returns the sums of the chosen trees, a row or a few of each, with what is said of the tree: kept ones, and counted where none
 * are kept, as of a tree that is open. @param where a condition on `t`, a row of `trees`. @param trees how many it chooses.
 */
export function sumsOf(table: TreeSumsTable, where: RawBuilder<unknown>, trees: 'few' | 'many' = 'few'): RawBuilder<unknown> {
  const columns = (of: string) =>
    sql.join(
      columnsOf(table)
        .slice(1)
        .map((column) => sql.ref(`${of}.${column}`)),
    );
  const isKept = sql`exists (select from tree_sums k where k.tree_id = t.tree_id)`;
  const chosen = table === 'tree_sums' ? where : sql`${where} and ${isKept}`; // a tree may have called tools at its root alone
  // of few each is looked up: a join reads the table of all
  const kept =
    trees === 'many'
      ? sql`trees t join ${sql.table(table)} k on k.tree_id = t.tree_id where ${chosen}`
      : sql`(select t.* from trees t where ${chosen} offset 0) t
        cross join lateral (select k.* from ${sql.table(table)} k where k.tree_id = t.tree_id offset 0) k`;
  return sql`(
    select ${OF_TREE}, ${columns('k')} from ${kept}
    union all
    select ${OF_TREE}, ${columns('p')} from (
      select t.* from trees t where ${where} and not ${isKept} offset 0) t
    cross join lateral (${TREE_SUMS[table].of}) p)`;
}
