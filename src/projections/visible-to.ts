import { snakeCase } from '../postgres/camel-case.ts';
import type { Db } from '../postgres/database.ts';
import { PROJECT, type Principal } from '../postgres/principal.ts';
import { rewritingDb } from '../postgres/rewriting-db.ts';
import { declaredTables } from '../postgres/table.ts';
import type { Tables } from '../postgres/tables.ts';

/**
 * Returns the database as a principal sees it: every statement reads, under the names of the tables, the rows of its projects
 * alone. Reads need not filter by themselves, and one that is added later cannot forget to. Who sees all projects reads as
 * before. What is no query is refused: nothing is written through it.
 */
export function visibleTo(db: Db, { projects }: Pick<Principal, 'projects'>): Db {
  if (projects === 'all') return db;
  const tables = visibleTables(literal(projects));
  return rewritingDb(db, (sql) => confined(sql, tables));
}

/**
 * Puts a `with` before a statement that shadows every table that it names: `with runs as (select … from runs where …) statement`.
 * Within its own definition a name still means the table. Each is `not materialized`: the planner joins them as if the
 * condition were written in the statement. One that begins with a `with` of its own becomes a table of another, since a
 * statement has one `with`; it keeps the order of its rows, which nothing above it changes.
 */
function confined(sql: string, tables: ReadonlyMap<string, string>): string {
  if (OF_CURSOR.test(sql)) return sql; // which reads what it was declared with
  const [declared] = CURSOR.exec(sql) ?? [];
  if (declared !== undefined) return `${declared} ${confined(sql.slice(declared.length), tables)}`;
  if (!/^[\s(]*(select|with)\b/i.test(sql)) throw new Error(`who sees some projects only reads: ${sql.slice(0, 200)}`);
  const confinable = sql.replaceAll(NAMED_KEYS, '');
  if (QUALIFIED.test(confinable)) throw new Error(`a table is read past its project: ${sql.slice(0, 500)}`);
  const named = new Set(confinable.match(/[a-z_]+/g));
  const shadows = [...tables].flatMap(([name, rows]) => (named.has(name) ? [`${name} as not materialized (${rows})`] : []));
  if (shadows.length === 0) return sql;
  const shadowing = `with ${shadows.join(', ')}`;
  return /^\s*with\b/i.test(sql) ? `${shadowing} select * from (${sql}) confined` : `${shadowing} ${sql}`;
}

const CURSOR = /^\s*declare [a-z_ ]+ cursor for\b/; // none `with hold`, which would outlive its transaction
const OF_CURSOR = /^\s*(fetch forward \d+ from|close) [a-z_]+\s*$/;
/**
 * Keys are read by id or stream only, which a confined row names, and belong to no project: a history segment that two projects
 * show is sealed by one key. The table is in `public`: read models as of a moment have none.
 */
const NAMED_KEYS =
  /\bpublic\.stream_keys( k)? where (k\.)?(key_id = any\(\$\d+::uuid\[\]\)|stream = (any\(\$\d+::uuid\[\]\)|r\.tree_id))/g;
/** A table behind the name of its schema would not be shadowed. */
const QUALIFIED = /\b(public|[a-z_]+_v\d+(_b\d+)?)"?\s*\.\s*"?[a-z_]+/;

/** An array of Postgres as a literal: a name of a project holds no quote. */
function literal(projects: readonly string[]): string {
  for (const project of projects)
    if (!PROJECT.test(project)) throw new RangeError(`${JSON.stringify(project)} is no name of a project`);
  return `'{${projects.join(',')}}'::text[]`;
}

import './registry.ts'; // its projections declare their tables

/** Which rows of a table belong to some projects: a condition on the row `t`, or everything, or nothing. */
type Rule = ((projects: string) => string) | 'all' | 'none';

/** The stream in a column belongs to one of the projects; a tree to those of its run. */
const stream =
  (column: string, topic: string): Rule =>
  (projects) =>
    owned(`t.${column}`, topic, projects);

function owned(id: string, topic: string, projects: string): string {
  return `exists (select from public.owners o left join public.owners r on r.stream = o.root and r.topic = 'runs'
    where o.stream = ${id} and o.topic = ${topic} and coalesce(r.project, o.project) = any(${projects}))`;
}

const run = stream('run_id', "'runs'");
const tree: Rule = (projects) => owned('t.tree_id', "'trees'", projects);
const dataset = stream('dataset_id', "'datasets'");
const lineage = stream('lineage_id', "'training'");
/** A segment is drawn once for all that show it: its event belongs to the run that it was appended for. */
const record: Rule = (projects) =>
  `case when t.topic = 'images' then ${owned('t.correlation_id', "'runs'", projects)}
    else ${owned('t.stream', 't.topic', projects)} end`;
const ofTopic = stream('stream', 't.topic');
const ofAnyTopic: Rule = (projects) =>
  `exists (select from public.owners o left join public.owners r on r.stream = o.root and r.topic = 'runs'
    where o.stream = t.stream and coalesce(r.project, o.project) = any(${projects}))`;

/**
 * Tables whose rows name no run and no tree: a rule for each must be written. The others follow their tree, or else their run.
 */
type Unnamed = {
  [Name in keyof Tables]: Tables[Name] extends { runId: unknown } | { treeId: unknown } ? never : Name;
}[keyof Tables];

/**
 * Every table that a statement can name has a rule; one without does not compile. What is named by the digest of its content
 * (texts of prompts, segments, render specs) is open to who knows the digest, which only rows of the project hold.
 */
const RULES: Readonly<Record<Unnamed, Rule> & Partial<Record<keyof Tables, Rule>>> = {
  // journal
  events: record,
  streams: ofAnyTopic,
  streamProducers: ofAnyTopic,
  anomalies: ofTopic,
  requeuedRecords: ofTopic,
  chainBlocks: 'none',
  // what is at fault is named whatever project it is of
  verifications: 'none',
  restorations: 'none',
  // runs
  experiments: stream('experiment_id', "'runs'"),
  experimentPlans: stream('experiment_id', "'runs'"),
  experimentStages: stream('experiment_id', "'runs'"),
  // images, prompts
  renderSpecs: 'all',
  segments: 'all',
  promptBlocks: 'all',
  // datasets
  datasets: dataset,
  datasetDigests: dataset,
  datasetExamples: dataset,
  // training-pool
  lineages: lineage,
  batches: lineage,
  sampleRejections: lineage,
  leases: lineage,
  batchAcks: lineage,
  batchAbandonments: lineage,
  checkpoints: lineage,
  policyVersions: lineage,
  // owners
  owners: (projects) => `t.project = any(${projects})`,
  payloadProjects: (projects) => `t.project = any(${projects})`,
  // how far the projections are, which says nothing of what they fold
  projections: 'all',
  projectionBuilds: 'all',
  cursors: 'all',
  // what was refused may name no stream that could be one
  quarantine: (projects) =>
    `case when t.stream ~ '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$' then ${owned('t.stream::uuid', 't.topic', projects)}
      else false end`,
  // what belongs to the installation
  apiKeys: 'none',
  logTopics: 'none',
  logPartitions: 'none',
  appendTraces: 'none',
  logRecords: 'none',
  logGroups: 'none',
  logCursors: 'none',
  logIdentity: 'none',
  recordedPartitions: 'none',
  runEpochs: run,
  streamEpochs: ofTopic,
  superseded: ofTopic,
  payloadPolicies: (projects) => `t.project = any(${projects})`,
  streamKeys: ofAnyTopic,
  deskDatabase: 'none',
  // the lease service decides by its own tables; its endpoints ask for the lineage first
  leaseDesk: lineage,
  leaseGrants: lineage,
  leaseAcks: lineage,
  leaseAbandonments: lineage,
  outbox: 'none',
  outboxStreams: 'none',
};

/**
 * The journal shows an event when its stream has an owner: a reader that goes on behind it must not pass one whose owner is not
 * folded yet. So its cursor counts as far as that of the owners is.
 */
const CURSORS = `select t.projection, t.version, t.topic, t.partition,
  case when t.projection = 'journal' and exists (select from projections p where p.name = 'owners')
    then least(t.next_offset, coalesce((select c.next_offset from cursors c join projections p on p.name = c.projection
      and p.version = c.version where p.name = 'owners' and (c.topic, c.partition) = (t.topic, t.partition)), 0))
    else t.next_offset end as next_offset, t.updated_at from cursors t`;

/** Returns, for each table that is not open to everyone, the rows of some projects (a literal of Postgres) as a query. */
function visibleTables(projects: string): ReadonlyMap<string, string> {
  const written = Object.entries(RULES).map(([name, rule]) => [snakeCase(name), rule] as const);
  const rows = [...new Map([...usual(), ...written])].flatMap(([table, rule]): [string, string][] => {
    if (table === 'cursors') return [[table, CURSORS]];
    if (rule === 'all') return [];
    return [[table, `select t.* from ${table} t where ${rule === 'none' ? 'false' : rule(projects)}`]];
  });
  return new Map(rows);
}

/** Returns the rule of every table whose rows name a tree or a run. */
function usual(): readonly (readonly [string, Rule])[] {
  return [...declaredTables().values()].flatMap(({ name, columns }): (readonly [string, Rule])[] => {
    if ('treeId' in columns) return [[name, tree]];
    return 'runId' in columns ? [[name, run]] : [];
  });
}
