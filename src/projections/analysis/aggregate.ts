import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { exactMean, exactSum } from '../../postgres/exact-sum.ts';
import { IMAGE_TOTALS, type ImageTotals } from '../images/read-image-totals.ts';
import { successRate } from '../step-tree/success-rate.ts';

/** What rollouts are summed up by. */
export const AGGREGATE_BY = ['RUN', 'TASK', 'DEPTH', 'KIND', 'POLICY_VERSION', 'ENVIRONMENT', 'TOOL'] as const;
export type AggregateBy = (typeof AGGREGATE_BY)[number];

/** What is summed up; a part that is left out leaves nothing out. */
export interface AggregateFilter {
  readonly runIds?: readonly string[];
  readonly taskIds?: readonly string[];
  readonly environment?: string;
  readonly split?: string;
  readonly taskDepth?: number;
  readonly taskKind?: string;
  readonly policyId?: string;
  readonly policyVersion?: number;
}

/** What a group has in common; null where it is grouped by something else, or where that has none. */
export interface GroupKey {
  readonly runId: string | null;
  readonly taskId: string | null;
  readonly taskDepth: number | null;
  readonly taskKind: string | null;
  readonly policyId: string | null;
  readonly policyVersion: number | null;
  readonly environment: string | null;
  readonly tool: string | null;
}

/** The rollouts of a group; by tool, those that called it. */
export interface RolloutSums {
  readonly rollouts: number;
  readonly finished: number;
  readonly successes: number;
  readonly successRate: number | null;
  /** Those that have a return: what nobody rewarded has none. */
  readonly rewarded: number;
  readonly meanReturn: number | null;
  readonly minReturn: number | null;
  readonly maxReturn: number | null;
  readonly meanSteps: number | null;
}
/** The actions of a group; by tool, those that called it. */
export interface StepSums {
  readonly steps: number;
  readonly wellFormatted: number;
  readonly executable: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly policyMs: number;
  readonly environmentMs: number;
}
export interface ToolSums {
  readonly calls: number;
  readonly errors: number;
  readonly durationMs: number;
}
/** The rewards in force of one component. */
export interface ComponentSums {
  readonly component: string;
  readonly rewards: number;
  readonly mean: number;
  readonly min: number;
  readonly max: number;
}

/** The images of histories that were shown; by tool, to steps that called it. */
export type ImageSums = Omit<ImageTotals, 'ofId'>;

export interface Aggregate extends GroupKey {
  readonly rollouts: RolloutSums;
  readonly steps: StepSums;
  readonly tools: ToolSums;
  readonly components: readonly ComponentSums[];
  readonly images: ImageSums;
}
/** `counts`: of the rollouts without what needs their returns and lengths. `differing`: how many images differ, of `images`. */
export type AggregatePart = 'rollouts' | 'counts' | 'steps' | 'tools' | 'components' | 'images' | 'differing';

/**
 * Sums up what was done, by run, task, depth or kind of the task, version of the policy, environment or tool: only the parts that
 * are asked for are read, the others are empty. Groups stand in the order of what they are grouped by.
 */
export async function aggregate(
  db: Db,
  by: AggregateBy,
  filter: AggregateFilter,
  parts: ReadonlySet<AggregatePart>,
): Promise<readonly Aggregate[]> {
  const read = <Sums>(part: AggregatePart, statement: RawBuilder<GroupKey & Sums>) =>
    parts.has(part) ? statement.execute(db).then(({ rows }) => rows) : Promise.resolve([]);
  const asked = { by, filter };
  const [rollouts, counts, steps, tools, components, images, differing] = await Promise.all([
    read<RolloutSums>('rollouts', rolloutSums(asked)),
    read<RolloutSums>('counts', rolloutCounts(asked)),
    read<StepSums>('steps', stepSums(asked)),
    read<ToolSums>('tools', toolSums(asked)),
    read<ComponentSums>('components', componentSums(asked)),
    read<Omit<ImageSums, 'images'>>('images', ofImages(asked)),
    read<Pick<ImageSums, 'images'>>('differing', differingImages(asked)),
  ]);
  const groups = new Map<string, { -readonly [K in keyof Aggregate]: Aggregate[K] }>();
  const of = (row: GroupKey) => {
    const { runId, taskId, taskDepth, taskKind, policyId, policyVersion, environment, tool } = row;
    const key = { runId, taskId, taskDepth, taskKind, policyId, policyVersion, environment, tool };
    const known = groups.get(keyOf(key)) ?? { ...key, ...NOTHING };
    groups.set(keyOf(key), known);
    return known;
  };
  for (const row of counts) of(row).rollouts = { ...NOTHING.rollouts, ...row };
  for (const row of rollouts) of(row).rollouts = row;
  for (const row of steps) of(row).steps = row;
  for (const row of tools) of(row).tools = row;
  for (const row of images) of(row).images = { ...NOTHING.images, ...row };
  for (const row of differing) {
    const group = of(row);
    group.images = { ...group.images, images: row.images };
  }
  for (const row of components) {
    const group = of(row);
    group.components = [...group.components, row];
  }
  return [...groups.values()].sort(inOrder);
}

/** Names a group by what it has in common. */
export function keyOf({ runId, taskId, taskDepth, taskKind, policyId, policyVersion, environment, tool }: GroupKey): string {
  // the kind comes last, and only where there is one
  const kind = taskKind === null ? [] : [taskKind];
  return JSON.stringify([runId, taskId, taskDepth, policyId, policyVersion, environment, tool, ...kind]);
}

const NOTHING = {
  rollouts: {
    rollouts: 0,
    finished: 0,
    successes: 0,
    successRate: null,
    rewarded: 0,
    meanReturn: null,
    minReturn: null,
    maxReturn: null,
    meanSteps: null,
  },
  steps: {
    steps: 0,
    wellFormatted: 0,
    executable: 0,
    promptTokens: 0,
    completionTokens: 0,
    policyMs: 0,
    environmentMs: 0,
  },
  tools: { calls: 0, errors: 0, durationMs: 0 },
  components: [],
  images: {
    steps: 0,
    images: 0,
    visionTokens: 0,
    textTokens: 0,
    saved: 0,
    segments: 0,
    hits: 0,
    misses: 0,
    hitRate: null,
    pixels: 0,
    meanFactor: null,
    cutSegments: 0,
    cutLines: 0,
    outside: 0,
    unshaped: 0,
    renderMs: 0,
  },
} as const;

interface Asked {
  readonly by: AggregateBy;
  readonly filter: AggregateFilter;
}

const KEYS = {
  RUN: ['run_id'],
  TASK: ['task_id'],
  DEPTH: ['task_depth'],
  KIND: ['task_kind'],
  POLICY_VERSION: ['policy_id', 'policy_version'],
  ENVIRONMENT: ['environment'],
  TOOL: ['tool'],
} as const satisfies Record<AggregateBy, readonly string[]>;
const TYPES = {
  run_id: 'uuid',
  task_id: 'uuid',
  task_depth: 'integer',
  task_kind: 'text',
  policy_id: 'text',
  policy_version: 'integer',
  environment: 'text',
  tool: 'text',
} as const;

/** The columns of a key: those it is grouped by of `g`, null in place of the others. */
function key(by: AggregateBy): RawBuilder<unknown> {
  const grouped: readonly string[] = KEYS[by];
  const columns = Object.entries(TYPES).map(([name, type]) =>
    grouped.includes(name) ? sql`g.${sql.ref(name)}` : sql`null::${sql.raw(type)} as ${sql.ref(name)}`,
  );
  return sql.join(columns);
}

function grouped(by: AggregateBy): RawBuilder<unknown> {
  return sql.join(KEYS[by].map((name) => sql`g.${sql.ref(name)}`));
}

function rolloutSums(asked: Asked): RawBuilder<GroupKey & RolloutSums> {
  return sql`
    select ${key(asked.by)}, ${COUNTS}, count(g.value) as rewarded, ${exactMean(sql`g.value`)} as mean_return, min(g.value) as min_return, max(g.value) as max_return,
           avg(g.steps) filter (where g.finished_at is not null)::float8 as mean_steps
    from ${rolloutsOf(asked, 'returns')} group by ${grouped(asked.by)}`;
}

function rolloutCounts(asked: Asked): RawBuilder<GroupKey & RolloutSums> {
  return sql`select ${key(asked.by)}, ${COUNTS} from ${rolloutsOf(asked, 'counts')} group by ${grouped(asked.by)}`;
}

const COUNTS = sql`count(*) as rollouts, count(g.finished_at) as finished, count(*) filter (where g.success) as successes,
  ${successRate('g')} as success_rate`;

/** The rollouts `g`, by tool each once for every tool that it called. */
function rolloutsOf({ by, filter }: Asked, what: 'returns' | 'counts'): RawBuilder<unknown> {
  const policy = ofPolicy(filter);
  const returns = sql`left join (select v.rollout_id, v.value from returns v where v.tree_id = t.tree_id offset 0) v using (rollout_id)`;
  const tools = sql`join (
    select distinct a.rollout_id, k.tool from tool_calls k join ${STEPS_OF_TREE} a using (step_id) where k.tree_id = t.tree_id offset 0
    ) k using (rollout_id)`;
  return sql`(
    select * from (${treesOf(filter)} offset 0) t cross join lateral (
      select * from (
        select o.rollout_id, o.policy_id, o.policy_version, o.finished_at, o.success, o.steps from rollouts o
        where o.tree_id = t.tree_id ${policy ? sql`and ${policy}` : sql``} offset 0) o
      ${what === 'returns' ? returns : sql``} ${by === 'TOOL' ? tools : sql``} offset 0) o) g`;
}

/** Steps of an index of their tree alone, which holds what is summed up. */
function stepSums(asked: Asked): RawBuilder<GroupKey & StepSums> {
  return sql`
    select ${key(asked.by)}, count(*) as steps, count(*) filter (where s.well_formatted) as well_formatted,
           count(*) filter (where s.executable) as executable, coalesce(sum(s.prompt_tokens), 0)::bigint as prompt_tokens,
           coalesce(sum(s.completion_tokens), 0)::bigint as completion_tokens, ${exactSum(sql`s.policy_ms`)} as policy_ms,
           ${exactSum(sql`s.environment_ms`)} as environment_ms
    from ${placed('steps', asked)} where s.depth > 0
    group by ${grouped(asked.by)}`;
}

function toolSums(asked: Asked): RawBuilder<GroupKey & ToolSums> {
  return sql`
    select ${key(asked.by)}, count(*) as calls, count(*) filter (where s.outcome = 'error') as errors, ${exactSum(sql`s.duration_ms`)} as duration_ms
    from ${placed('tool_calls', asked)}
    group by ${grouped(asked.by)}`;
}

function componentSums(asked: Asked): RawBuilder<GroupKey & ComponentSums> {
  return sql`
    select ${key(asked.by)}, s.component, count(*) as rewards, ${exactMean(sql`s.value`)} as mean, min(s.value) as min, max(s.value) as max
    from ${placed('rewards', asked)}
    group by ${grouped(asked.by)}, s.component
    order by s.component`;
}

function differingImages(asked: Asked): RawBuilder<GroupKey & Pick<ImageSums, 'images'>> {
  return sql`
    select ${key(asked.by)}, count(distinct s.image_id collate "C") as images
    from ${placed('history_images', asked)}
    group by ${grouped(asked.by)}`;
}

function ofImages(asked: Asked): RawBuilder<GroupKey & Omit<ImageSums, 'images'>> {
  return sql`
    select ${key(asked.by)}, ${IMAGE_TOTALS}
    from ${placed('history_images', asked)}
    group by ${grouped(asked.by)}`;
}

const STEPS_OF_TREE = sql`(select a.step_id, a.rollout_id from steps a where a.tree_id = t.tree_id offset 0)`;

/** The columns of facts that are summed up, besides the rollout that they are of. */
const FACTS = {
  steps: [
    ...['step_id', 'depth', 'well_formatted', 'executable', 'prompt_tokens', 'completion_tokens', 'policy_ms', 'environment_ms'],
  ],
  tool_calls: ['step_id', 'tool', 'outcome', 'duration_ms'],
  rewards: ['step_id', 'component', 'value'],
  history_images: [
    ...['step_id', 'image_id', 'vision_tokens', 'text_tokens', 'length', 'missed', 'factor', 'width', 'height', 'cut_segments'],
    ...['cut_lines', 'outside', 'unshaped', 'render_ms'],
  ],
} as const;
type Fact = keyof typeof FACTS;

/**
 * The facts `s` of a table, each in its groups `g`: those of its tree, the steps of a search that no rollout took included; those
 * of its rollout, where only this has a policy; those of the tools that its step called. The latter two are joined tree by tree:
 * of all trees at once Postgres expects few rows, and looks up one after the other.
 */
function placed(fact: Fact, { by, filter }: Asked): RawBuilder<unknown> {
  const ofTree = treesOf(filter);
  const policy = ofPolicy(filter);
  if (by !== 'TOOL' && by !== 'POLICY_VERSION' && policy === null)
    return sql`(${ofTree}) g join ${sql.table(fact)} s on s.tree_id = g.tree_id`;
  const acted = policy
    ? sql`join ${STEPS_OF_TREE} a using (step_id) join rollouts o on o.rollout_id = a.rollout_id and o.tree_id = t.tree_id and ${policy}`
    : sql``;
  const groups =
    by === 'TOOL'
      ? sql`select distinct k.step_id, k.tool from tool_calls k ${acted} where k.tree_id = t.tree_id`
      : sql`select o.rollout_id, o.policy_id, o.policy_version from rollouts o where o.tree_id = t.tree_id ${policy ? sql`and ${policy}` : sql``}`;
  const shared = by !== 'TOOL' ? sql`rollout_id` : fact === 'tool_calls' ? sql`step_id, tool` : sql`step_id`;
  const some = fact === 'history_images' ? sql`and exists (select from history_images h where h.tree_id = t.tree_id)` : sql``;
  return sql`(
    select * from (${ofTree} ${some} offset 0) t
    cross join lateral (
      with g as materialized (${groups}) select * from g join (${inTree(fact)} offset 0) f using (${shared}) offset 0) p) s
    cross join lateral (select ${sql.join(KEYS[by].map((name) => sql.ref(`s.${name}`)))}) g`;
}

/** The facts of a tree `t`, each with the rollout that took its step, or that it names. */
function inTree(fact: Fact): RawBuilder<unknown> {
  const columns = sql.join(FACTS[fact].map((name) => sql.ref(`f.${name}`)));
  switch (fact) {
    case 'steps':
      return sql`select ${columns}, f.rollout_id from steps f where f.tree_id = t.tree_id`;
    case 'rewards':
      // few are of a step alone: their rollouts are looked up one by one
      return sql`select ${columns}, coalesce(f.rollout_id, (
        select a.rollout_id from steps a where a.step_id = f.step_id and a.tree_id = t.tree_id)) as rollout_id
        from rewards f where f.tree_id = t.tree_id`;
    case 'tool_calls':
    case 'history_images':
      return sql`select ${columns}, a.rollout_id from ${sql.table(fact)} f join ${STEPS_OF_TREE} a using (step_id) where f.tree_id = t.tree_id`;
  }
}

function treesOf(filter: AggregateFilter): RawBuilder<unknown> {
  return sql`select t.tree_id, t.run_id, t.task_id, t.task_depth, t.kind as task_kind, t.environment from trees t where ${ofTrees(filter)}`;
}

function ofTrees({ runIds, taskIds, environment, split, taskDepth, taskKind }: AggregateFilter): RawBuilder<unknown> {
  const all: RawBuilder<unknown>[] = [sql`true`];
  if (runIds !== undefined) all.push(sql`t.run_id = any(${[...runIds]}::uuid[])`);
  if (taskIds !== undefined) all.push(sql`t.task_id = any(${[...taskIds]}::uuid[])`);
  if (environment !== undefined) all.push(sql`t.environment = ${environment}`);
  if (split !== undefined) all.push(sql`t.split = ${split}`);
  if (taskDepth !== undefined) all.push(sql`t.task_depth = ${taskDepth}`);
  if (taskKind !== undefined) all.push(sql`t.kind = ${taskKind}`);
  return sql.join(all, sql` and `);
}

function ofPolicy({ policyId, policyVersion }: AggregateFilter): RawBuilder<unknown> | null {
  const all: RawBuilder<unknown>[] = [];
  if (policyId !== undefined) all.push(sql`o.policy_id = ${policyId}`);
  if (policyVersion !== undefined) all.push(sql`o.policy_version = ${policyVersion}`);
  return all.length === 0 ? null : sql.join(all, sql` and `);
}

/** By text, then by number; what has none last. */
function inOrder(a: GroupKey, b: GroupKey): number {
  const texts = ['runId', 'taskId', 'taskKind', 'policyId', 'environment', 'tool'] as const;
  for (const name of texts) {
    const [left, right] = [a[name], b[name]];
    if (left !== right) return left === null ? 1 : right === null ? -1 : left < right ? -1 : 1;
  }
  const number = (value: number | null) => value ?? Number.POSITIVE_INFINITY;
  if (a.taskDepth !== b.taskDepth) return number(a.taskDepth) - number(b.taskDepth);
  return a.policyVersion === b.policyVersion ? 0 : number(a.policyVersion) - number(b.policyVersion);
}
