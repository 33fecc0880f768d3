import { type RawBuilder, sql } from 'kysely';
import type { Topic } from '../../events/catalogue.ts';
import type { Db } from '../../postgres/database.ts';

/** Who owns a stream, and the project that it belongs to: of a tree those of its run. */
export interface Owner {
  readonly stream: string;
  readonly principal: string;
  readonly project: string;
}

const OWNED = sql`owners o left join owners r on r.stream = o.root and r.topic = 'runs'`;
const PROJECT = sql`coalesce(r.project, o.project)`;

/** Reads the owners of streams of a topic, in one statement; streams that nobody opened are left out. */
export async function readOwners(db: Db, topic: Topic, streams: readonly string[]): Promise<ReadonlyMap<string, Owner>> {
  if (streams.length === 0) return new Map();
  const { rows } = await sql<Owner>`
    select o.stream, coalesce(r.principal, o.principal) as principal, ${PROJECT} as project from ${OWNED} where o.topic = ${topic} and o.stream = any(${[...new Set(streams)]}::uuid[])`.execute(
    db,
  );
  return new Map(rows.map((row) => [row.stream, row]));
}

/** The project that a stream belongs to, for a statement that reads it with other things; null of one that nobody opened. */
export function projectOf(topic: Topic, stream: RawBuilder<unknown>): RawBuilder<string | null> {
  return sql`(select ${PROJECT} from ${OWNED} where o.topic = ${topic} and o.stream = ${stream})`;
}

/** Reads the trees of a run, by id. */
export async function readOwnTrees(db: Db, runId: string): Promise<readonly string[]> {
  const rows = await db.selectFrom('owners').select('stream').where('root', '=', runId).where('topic', '=', 'trees').execute();
  return rows.map(({ stream }) => stream).sort();
}

/** Returns which of some payloads belong to projects, but to none of these. */
export async function readForeignPayloads(
  db: Db,
  sha256s: readonly string[],
  projects: readonly string[],
): Promise<ReadonlySet<string>> {
  if (sha256s.length === 0) return new Set();
  const { rows } = await sql<{ sha256: string }>`
    select sha256 from payload_projects where sha256 = any(${[...new Set(sha256s)]}::text[])
    group by sha256 having not bool_or(project = any(${[...projects]}::text[]))`.execute(db);
  return new Set(rows.map(({ sha256 }) => sha256));
}

/** A project and what belongs to it. */
export interface ProjectTotals {
  readonly project: string;
  readonly runs: number;
  readonly trees: number;
  readonly datasets: number;
  readonly policies: number;
}

/** Lists the projects that something belongs to, by name. */
export async function readProjects(db: Db): Promise<readonly ProjectTotals[]> {
  const { rows } = await sql<ProjectTotals>`
    select ${PROJECT} as project, count(*) filter (where o.topic = 'runs') as runs,
           count(*) filter (where o.topic = 'trees') as trees, count(*) filter (where o.topic = 'datasets') as datasets,
           count(*) filter (where o.topic = 'training') as policies
    from ${OWNED} where o.topic <> 'images' and (o.topic <> 'runs' or o.stream in (select run_id from runs))
    group by 1 order by 1`.execute(db);
  return rows;
}
