import { z } from 'zod';
import { POSITION, parsePosition } from '../../../log/position.ts';
import { parseCursor } from '../../../postgres/keyset-cursor.ts';
import type { Moment } from '../../../projections/as-of/moment.ts';
import type { Entities } from '../../../projections/as-of/scope.ts';
import { orderingOf, type TableFilters } from '../../../projections/tables/read-table.ts';
import type { TreeTable } from '../../../projections/tables/table.ts';
import { readableTables, type TableName } from '../../../projections/tables/tables.ts';
import { OUTCOMES } from '../../../projections/trajectories/trajectory-query.ts';
import type { TableStreamRequest } from './stream-table.ts';

export const ARROW_STREAM = 'application/vnd.apache.arrow.stream';

const UUID = '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}';
const id = z
  .string()
  .regex(new RegExp(`^${UUID}$`), 'must be a UUID')
  .transform((text) => text.toLowerCase());
const RUNS = 100;
const ids = z
  .string()
  .regex(listOf(UUID, RUNS), `must be UUIDs with commas between them, ${RUNS} at most`)
  .transform((text) => text.toLowerCase().split(','));
const name = z.string().min(1).max(200);
const flag = z.enum(['true', 'false']).transform((text) => text === 'true');
const whole = z
  .string()
  .regex(/^\d{1,9}$/, 'must be a whole number')
  .transform(Number);
const float = z
  .string()
  .regex(/^-?\d{1,300}(\.\d{1,300})?(e[+-]?\d{1,3})?$/i, 'must be a number')
  .transform(Number);
const time = z.iso
  .datetime({ offset: true, error: 'must be an instant with its zone, as 2026-01-31T09:30:00Z' })
  .transform((text) => new Date(text));

/** The parameters that name a moment of the record, one of them. */
export const MOMENT = {
  asOf: z
    .string()
    .regex(POSITION, 'is no position; one looks like runs.0:3,trees.2:41')
    .refine(is(parsePosition), 'names a partition twice')
    .optional()
    .describe('Reads the record as of this position, as `asOf` of GraphQL.'),
  asOfTime: time.optional().describe('Reads the record as of this instant.'),
};
type MomentTexts = { readonly asOf?: string | undefined; readonly asOfTime?: Date | undefined };

/** Whether parameters name one moment at most; `ONE_MOMENT` says so where they do not. */
export function namesOneMoment(query: object): boolean {
  const { asOf, asOfTime } = query as MomentTexts;
  return asOf === undefined || asOfTime === undefined;
}
export const ONE_MOMENT = { error: 'pass a position or an instant, one of them', path: ['asOf'] };

/** Returns the moment that parameters name; null is now. */
export function momentOf({ asOf, asOfTime }: MomentTexts): Moment | null {
  if (asOf !== undefined) return { kind: 'position', position: parsePosition(asOf) };
  return asOfTime === undefined ? null : { kind: 'time', time: asOfTime };
}

/** What every tree is chosen by. */
const OF_TREES = {
  run: ids.optional().describe(`Any of these runs: ids with commas between them, ${RUNS} at most.`),
  tree: id.optional().describe('The tree.'),
  task: id.optional().describe('The task.'),
  environment: name.optional().describe('The environment.'),
  split: name.optional().describe('The split of the task.'),
  taskDepth: whole.optional().describe('The depth of the task.'),
};
const POLICY = {
  policy: name.optional().describe('The name of the policy.'),
  policyVersion: whole.optional().describe('The version of the policy.'),
};

const FILTERS = {
  trajectories: {
    ...OF_TREES,
    ...POLICY,
    outcome: z
      .string()
      .regex(listOf(`(${OUTCOMES.join('|')})`), `must be of ${OUTCOMES.join(', ')}`)
      .transform((text) => text.split(','))
      .optional()
      .describe(`How it ended, one of these: ${OUTCOMES.join(', ')}, with commas between them.`),
    success: flag.optional().describe('What the environment says of it.'),
    label: name.optional().describe('It is annotated with this label, or a step that it took.'),
    annotated: flag.optional().describe('Whether it is annotated at all, or with the label.'),
    returnFrom: float.optional().describe('Its return is at least this.'),
    returnUntil: float.optional().describe('Its return is less than this.'),
    stepsFrom: whole.optional().describe('Its rollout took at least so many actions.'),
    stepsUntil: whole.optional().describe('Its rollout took fewer actions.'),
    finishedFrom: time.optional().describe('It finished at this instant or later.'),
    finishedUntil: time.optional().describe('It finished before this instant.'),
    dataset: id.optional().describe('Examples of this dataset were made of it.'),
  },
  steps: {
    ...OF_TREES,
    ...POLICY,
    rollout: id.optional().describe('The rollout that took it.'),
    action: z.string().max(10_000).optional().describe('The whole action.'),
    tool: name.optional().describe('A tool that was called in it.'),
    component: name.optional().describe('It has a reward of this component.'),
    rewardFrom: float.optional().describe('It has a reward of at least this.'),
    rewardUntil: float.optional().describe('It has a reward of less than this.'),
    label: name.optional().describe('It is annotated with this label.'),
    annotated: flag.optional().describe('Whether it is annotated at all, or with the label.'),
    verdict: name.optional().describe('What a judge said of it.'),
    sampleState: z
      .enum(['trained', 'rejected', 'abandoned', 'group', 'ready', 'planned', 'leased'])
      .optional()
      .describe('What became of its rollout as a training sample.'),
    sampleReason: name.optional().describe('Why its rollout is never trained on.'),
    depthFrom: whole.optional().describe('At least so many actions lead to it.'),
    depthUntil: whole.optional().describe('Fewer actions lead to it.'),
    termination: z.enum(['none', 'terminated', 'truncated']).optional().describe('Whether the episode ended at it.'),
    wellFormatted: flag.optional().describe('The answer had the form that was asked for.'),
    executable: flag.optional().describe('The environment could carry the action out.'),
  },
  rewards: {
    ...OF_TREES,
    ...POLICY,
    rollout: id.optional().describe('The rollout that it judges, or that took its step.'),
    step: id.optional().describe('The step that it judges.'),
    component: name.optional().describe('What it is about.'),
    scorer: name.optional().describe('Who judged, in force.'),
    valueFrom: float.optional().describe('The judgement in force is at least this.'),
    valueUntil: float.optional().describe('The judgement in force is less than this.'),
    success: flag.optional().describe('What the environment says of the rollout.'),
  },
  samples: {
    ...OF_TREES,
    policy: name.optional().describe('The policy that it trains.'),
    version: whole.optional().describe('A version that acted in it, by its oldest and newest span.'),
    state: z
      .enum(['trained', 'rejected', 'abandoned', 'group', 'ready', 'planned', 'leased'])
      .optional()
      .describe('What became of it.'),
    reason: name.optional().describe('Why it is never trained on.'),
    batch: id.optional().describe('Its batch.'),
    success: flag.optional().describe('What the environment says of the rollout.'),
  },
  batches: {
    run: ids.optional().describe(`It holds a sample of any of these runs: ids with commas between them, ${RUNS} at most.`),
    policy: name.optional().describe('The policy that it trains.'),
    state: z.enum(['planned', 'leased', 'trained', 'abandoned']).optional().describe('What became of it.'),
  },
} as const;

/** The query of each table, as a request writes it. A parameter that is misspelt is refused: it would choose everything. */
export const tableQueries = {
  trajectories: queryOf('trajectories', FILTERS.trajectories),
  steps: queryOf('steps', FILTERS.steps),
  rewards: queryOf('rewards', FILTERS.rewards),
  samples: queryOf('samples', FILTERS.samples),
  batches: queryOf('batches', FILTERS.batches),
} as const;

/** What a request asks of a table, and at which moment of the record; null is now. */
export interface TableRequest {
  readonly asked: TableStreamRequest;
  readonly moment: Moment | null;
  /** What of the record the moment is folded from. */
  readonly entities: Entities | 'all';
}

/** Parses the query of a request. */
export function parseTableQuery(
  table: TableName,
  query: Readonly<Record<string, unknown>>,
): { readonly kind: 'parsed'; readonly value: TableRequest } | { readonly kind: 'refused'; readonly error: z.ZodError } {
  const parsed = tableQueries[table].safeParse(query);
  return parsed.success ? { kind: 'parsed', value: requestOf(table, parsed.data) } : { kind: 'refused', error: parsed.error };
}

function queryOf<Filters extends z.ZodRawShape>(table: TableName, filters: Filters) {
  const ordering = orderingOf(readableTables[table]);
  const names = readableTables[table].columns.map((column) => column.name);
  const unknown = (text: string) => text.split(',').find((each) => !names.includes(each));
  return z
    .strictObject({
      ...filters,
      columns: z
        .string()
        .regex(listOf(`(${names.join('|')})`), {
          error: ({ input }) => `${JSON.stringify(unknown(String(input)))} is no column of ${table}; it has ${names.join(', ')}`,
        })
        .optional()
        .describe(`The columns, with commas between them; all unless given: ${names.join(', ')}.`),
      limit: whole.optional().describe('How many rows at most.'),
      after: z
        .string()
        .refine(
          is((text) => parseCursor(text, ordering)),
          'is no cursor of this table; pass `espalier.after` of a batch as it is',
        )
        .optional()
        .describe('Begins behind this place: `espalier.after` in the metadata of a record batch.'),
      ...MOMENT,
    })
    .refine(namesOneMoment, ONE_MOMENT);
}

/** Matches items with commas between them. */
function listOf(item: string, most?: number): RegExp {
  return new RegExp(`^${item}(,${item})${most === undefined ? '*' : `{0,${most - 1}}`}$`);
}

function is(parse: (text: string) => unknown): (text: string) => boolean {
  return (text) => {
    try {
      parse(text);
      return true;
    } catch {
      return false;
    }
  };
}

type Parsed = z.output<(typeof tableQueries)[TableName]>;

function requestOf(name: TableName, parsed: Parsed): TableRequest {
  const { columns, limit, after, asOf, asOfTime, ...chosen } = parsed;
  const table = readableTables[name];
  const named = columns?.split(',');
  const filter = filterOf(name, chosen);
  const moment = momentOf({ asOf, asOfTime });
  return {
    asked: {
      table: name,
      filter,
      after: after ?? null,
      limit: limit ?? null,
      columns: named ? table.columns.filter((column) => named.includes(column.name)) : table.columns,
    },
    moment,
    entities: entitiesOf(name, filter),
  };
}

/** The streams that a moment is folded from: those of the runs or the tree named, where they hold all that the table needs. */
function entitiesOf(name: TableName, filter: TableFilters): Entities | 'all' {
  const table = readableTables[name];
  if (table.kind !== 'trees' || !(table as unknown as TreeTable).ofStreams(filter)) return 'all';
  const { runIds, treeId } = filter as { readonly runIds?: readonly string[]; readonly treeId?: string };
  if (treeId !== undefined) return { runs: [], trees: [treeId], steps: [], rollouts: [] };
  return runIds === undefined ? 'all' : { runs: runIds, trees: [], steps: [], rollouts: [] };
}

/** The names of parameters → those of the filters of the read side. */
const FIELDS: Readonly<Record<string, string>> = {
  run: 'runIds',
  tree: 'treeId',
  task: 'taskId',
  rollout: 'rolloutId',
  step: 'stepId',
  batch: 'batchId',
  dataset: 'datasetId',
  policy: 'policyId',
  outcome: 'outcomes',
};

function filterOf(name: TableName, chosen: Readonly<Record<string, unknown>>): TableFilters {
  const renamed: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(chosen)) if (value !== undefined) renamed[FIELDS[key] ?? key] = value;
  const { policyVersion, component, rewardFrom, rewardUntil, label, annotated, ...rest } = renamed;
  const of: Record<string, unknown> = rest;
  const add = (key: string, value: unknown) => {
    if (value !== undefined) of[key] = value;
  };
  if (name === 'trajectories' && typeof policyVersion === 'number') {
    add('policyVersionFrom', policyVersion);
    add('policyVersionUntil', policyVersion + 1);
  } else add('policyVersion', policyVersion);
  if (label !== undefined || annotated !== undefined)
    add('annotated', { has: annotated ?? true, ...(label === undefined ? {} : { label }) });
  const reward = { component, from: rewardFrom, until: rewardUntil };
  if (name !== 'steps') add('component', component);
  else if (Object.values(reward).some((value) => value !== undefined)) add('reward', reward);
  return of as TableFilters; // the schema of the table is the proof
}
