import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import type { RecallSeed } from './touched.ts';

/** Something that a traced thing is connected with: what can be traced in turn, and a line about it. */
export interface Link {
  readonly id: string;
  readonly text: string;
}

/** Everything in one relation: how many there are, and the first of them. */
export interface Links {
  readonly relation: string;
  readonly total: number;
  readonly first: readonly Link[];
}

/** A relation, as a query of `id` and `text` in the order in which they are shown. */
export interface LinkQuery {
  readonly relation: string;
  readonly query: RawBuilder<unknown>;
}

/**
 * Where the events that made something lie: in which streams, of which types, the field of their data that names it, and what
 * is there.
 */
export interface MadeBy {
  readonly streams: RawBuilder<unknown>;
  readonly types: readonly string[];
  readonly field: string;
  readonly named: string;
}

/** Something that was found under an id. */
export interface TracedEntity {
  readonly kind: string;
  readonly id: string;
  /** What it is, in a line. */
  readonly title: string;
  /** Null for an event, which is its own maker, and for a task, which no event makes. */
  readonly madeBy: MadeBy | null;
  readonly from: readonly LinkQuery[];
  readonly usedBy: readonly LinkQuery[];
  /** Where the way forward begins; null where nothing is made of it. */
  readonly seed: RecallSeed | null;
}

/** Looks for one kind of thing. `treeId`: the tree of what is meant, where several have one under its id; null: the id says it alone. */
export type Finder = (db: Db, id: string, treeId: string | null) => Promise<TracedEntity | null>;

const SHOWN = 10;

/** Reads a relation: its size and its first members. */
export async function readLinks(db: Db, { relation, query }: LinkQuery): Promise<Links> {
  const { rows } = await sql<Link & { total: number }>`
    select id::text as id, coalesce(text, '') as text, (count(*) over ())::integer as total from (${query}) q limit ${SHOWN}`.execute(
    db,
  );
  return { relation, total: rows[0]?.total ?? 0, first: rows.map(({ id, text }) => ({ id, text })) };
}

/** Reads one row, or null. */
export async function readOne<T>(db: Db, query: RawBuilder<T>): Promise<T | null> {
  const { rows } = await query.execute(db);
  return rows[0] ?? null;
}

/** A query that returns one id, as a set of streams. */
export function oneStream(id: string): RawBuilder<unknown> {
  return sql`select ${id}::uuid`;
}
