import { sql } from 'kysely';
import type { EventType } from '../../events/catalogue.ts';
import { decode } from '../../events/codec.ts';
import { splitPayload } from '../../events/payload.ts';
import { payloadFields } from '../../events/payload-fields.ts';
import type { Db } from '../../postgres/database.ts';

/** The trees of a run that are to be forgotten, and whether its own stream is: a whole run, or some of its trees. */
export interface ForgettableRun {
  readonly runId: string;
  readonly name: string;
  readonly finished: boolean;
  readonly trees: readonly string[];
  readonly whole: boolean;
}

/** What is asked for: runs, trees, or all runs of a project. */
export type Forgettable =
  | { readonly kind: 'runs' | 'trees'; readonly ids: readonly string[] }
  | { readonly kind: 'project'; readonly project: string };

/** Reads which runs and trees are meant; ids that are not on record are left out. A run without a stamp is of `default`. */
export async function readForgettable(db: Db, forgettable: Forgettable): Promise<readonly ForgettableRun[]> {
  const of =
    forgettable.kind === 'project'
      ? sql`r.run_id in (select stream from events e where e.type = 'RunStarted' and e.stream = r.run_id
          and coalesce(e.body::jsonb ->> 'project', 'default') = ${forgettable.project})`
      : forgettable.kind === 'runs'
        ? sql`r.run_id = any(${[...forgettable.ids]}::uuid[])`
        : sql`t.tree_id = any(${[...forgettable.ids]}::uuid[])`;
  const { rows } = await sql<Omit<ForgettableRun, 'whole'>>`
    select r.run_id, r.name, r.finished_at is not null as finished,
           coalesce(array_agg(t.tree_id order by t.tree_id) filter (where t.tree_id is not null), '{}') as trees
    from runs r left join trees t using (run_id) where ${of}
    group by r.run_id, r.name, r.finished_at order by r.run_id`.execute(db);
  return rows.map((row) => ({ ...row, whole: forgettable.kind !== 'trees' }));
}

/**
 * Reads the ids of the history segments that nothing shows but what is forgotten: a segment is shared by all runs that show
 * its text, and goes with the last of them.
 */
export async function readOwnSegments(db: Db, trees: readonly string[]): Promise<readonly string[]> {
  const of = sql`any(${[...trees]}::uuid[])`;
  const { rows } = await sql<{ id: string }>`
    select distinct s.id from history_images h, jsonb_array_elements_text(h.segments) as s(id) where h.tree_id = ${of}
    except
    select s.id from history_images h, jsonb_array_elements_text(h.segments) as s(id)
    where not h.tree_id = ${of} and h.tree_id not in (select stream from public.stream_keys where secret is null)`.execute(db);
  return rows.map(({ id }) => id);
}

const PAYLOAD_TYPES = (Object.keys(payloadFields) as EventType[]).filter((type) => payloadFields[type].length > 0);
const PAGE = 2_000;

/** Counts the events of streams whose payload lies in the clear: no key can make the log forget it. */
export async function countClear(db: Db, streams: readonly string[]): Promise<number> {
  let clear = 0;
  for (let i = 0; i < streams.length; i += PAGE) {
    const { rows } = await sql<{ body: string }>`
      select body from events where stream = any(${streams.slice(i, i + PAGE)}::uuid[])
        and type = any(${PAYLOAD_TYPES}::text[]) and position('"sealed":{"key":"' in body) = 0`.execute(db);
    for (const { body } of rows) {
      const decoded = decode(Buffer.from(body));
      if (decoded.kind === 'event' && splitPayload(decoded.event.type, decoded.event.data)) clear++;
    }
  }
  return clear;
}

/** Reads the names of the blobs that the sealed payload of streams refers to, and that no other record of the journal names. */
export async function readOwnBlobs(db: Db, streams: readonly string[]): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    with own as materialized (
      select distinct b.name from events e, jsonb_array_elements_text(e.body::jsonb #> '{sealed,blobs}') as b(name)
      where e.stream = any(${[...streams]}::uuid[]) and position(',"blobs":["' in e.body) > 0
    ), others as materialized (
      select distinct m[1] as name from events e, regexp_matches(e.body, '[0-9a-f]{64}', 'g') as m
      where exists (select 1 from own) and not e.stream = any(${[...streams]}::uuid[])
        and (position('"blob":"' in e.body) > 0 or position(',"blobs":["' in e.body) > 0)
        and not exists (select 1 from public.stream_keys k where k.stream = e.stream and k.secret is null)
    )
    select name from own where name not in (select name from others) order by name`.execute(db);
  return rows.map(({ name }) => name);
}

/** Reads the keys whose forgetting is on record, for a run. */
export async function readForgottenKeys(db: Db, runId: string): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ keyId: string }>`
    select k.key_id from events e, jsonb_array_elements_text(e.body::jsonb #> '{data,keys}') as k(key_id)
    where e.stream = ${runId}::uuid and e.type = 'PayloadForgotten'`.execute(db);
  return new Set(rows.map(({ keyId }) => keyId));
}

/** Reads the datasets that were released from runs: their files are outside of the record. */
export async function readReleasedFrom(db: Db, runs: readonly string[]): Promise<readonly string[]> {
  const { rows } = await sql<{ label: string }>`
    select name || ' ' || version as label from datasets
    where runs && ${[...runs]}::uuid[] and withdrawn_at is null order by name, version`.execute(db);
  return rows.map(({ label }) => label);
}
