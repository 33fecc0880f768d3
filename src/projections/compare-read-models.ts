import { sql } from 'kysely';
import type { Db, Trx } from '../postgres/database.ts';

/** What the journal and a read model do not agree on. */
export interface ReadModelFault {
  readonly projection: string;
  readonly table: string;
  /** `missing`: an event of the journal has no row, and is not set aside. `inserted`: a row has no event. */
  readonly kind: 'missing' | 'inserted';
  readonly id: string;
}

interface Counted {
  readonly projection: string;
  readonly table: string;
  /** Its key. */
  readonly key: string;
  /** Event type → the field that names the row. */
  readonly events: Readonly<Record<string, string>>;
}

/** Tables of which every row is one event, by a key that the event names. */
const COUNTED: readonly Counted[] = [
  { projection: 'runs', table: 'runs', key: 'run_id', events: { RunStarted: 'runId' } },
  { projection: 'step-tree', table: 'trees', key: 'tree_id', events: { TreeOpened: 'treeId' } },
  { projection: 'step-tree', table: 'steps', key: 'step_id', events: { TreeOpened: 'rootStepId', StepTaken: 'stepId' } },
  { projection: 'step-tree', table: 'rollouts', key: 'rollout_id', events: { RolloutStarted: 'rolloutId' } },
  { projection: 'rewards', table: 'rewards', key: 'reward_id', events: { RewardAssigned: 'rewardId' } },
];

/**
 * Compares the rows of read models with the events that they are made of, in one snapshot: names events without a row and rows
 * without an event, at most `limit` of each table. A projection that is ahead of the journal is not asked for rows without one.
 */
export async function compareReadModels(db: Db, limit: number): Promise<readonly ReadModelFault[]> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      const faults: ReadModelFault[] = [];
      for (const counted of COUNTED) for (const each of await compare(trx, counted, limit)) faults.push(each);
      return faults;
    });
}

async function compare(trx: Trx, { projection, table, key, events }: Counted, limit: number): Promise<ReadModelFault[]> {
  const named = sql.join(
    Object.entries(events).map(
      ([type, field]) => sql`
        select (e.body::jsonb -> 'data' ->> ${sql.lit(field)})::uuid as id, e.topic, e.partition, e."offset", e.event_id
        from events e where e.type = ${sql.lit(type)}`,
    ),
    sql` union all `,
  );
  const { rows } = await sql<{ id: string; kind: ReadModelFault['kind'] }>`
    with named as (${named}), own as (
      select c.topic, c.partition, c.next_offset from cursors c join projections p on p.name = c.projection and p.version = c.version
      where c.projection = ${projection}
    ), ahead as (
      select from own left join (cursors j join projections p on p.name = j.projection and p.version = j.version)
        on j.projection = 'journal' and j.topic = own.topic and j.partition = own.partition
      where own.next_offset > coalesce(j.next_offset, 0)
    )
    (select n.id, 'missing' as kind from named n
     join own on own.topic = n.topic and own.partition = n.partition and n."offset" < own.next_offset
     left join ${sql.table(table)} r on r.${sql.ref(key)} = n.id
     where r.${sql.ref(key)} is null and not exists (
       select from quarantine q where q.projection = ${projection} and q.event_id = n.event_id and q.requeued_at is null)
     order by n.id limit ${limit})
    union all
    (select r.${sql.ref(key)}, 'inserted' from ${sql.table(table)} r left join named n on n.id = r.${sql.ref(key)}
     where n.id is null and not exists (select from ahead) order by 1 limit ${limit})`.execute(trx);
  return rows.map(({ id, kind }) => ({ projection, table, kind, id }));
}
