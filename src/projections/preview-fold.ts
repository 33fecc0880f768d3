import { sql } from 'kysely';
import type { Delivery } from '../events/envelope.ts';
import type { Db, Trx } from '../postgres/database.ts';
import { foldEvents } from './apply-slices.ts';
import { isRejectedByPostgres } from './fault.ts';
import { markRepeated } from './journal/mark-repeated.ts';
import { liveStatusOf, readLiveVersions } from './live-versions.ts';
import { atVersion, type Projection, schemaNameOf } from './projection.ts';
import { cannotStore } from './quarantine.ts';

/**
 * Asks the live version of a projection what it would say of events of one partition, in their order, as the next it folds there;
 * nothing is kept. It holds the cursor of the partition meanwhile, so that what is folded at the same time cannot change the
 * answer. Returns the reasons of those that it would refuse.
 */
export async function previewFold(
  db: Db,
  projection: Projection,
  { topic, partition }: { readonly topic: string; readonly partition: number },
  deliveries: readonly Delivery[],
): Promise<ReadonlyMap<Delivery, string>> {
  const status = liveStatusOf(projection, await readLiveVersions(db));
  if (status.kind === 'other-code') return new Map(deliveries.map((delivery) => [delivery, status.reason]));
  const asked = await marked(db, deliveries);
  const isOffered = ({ repeats }: Delivery) => repeats === undefined || projection.keepsWithoutEffect === true;
  const offered = [...asked.keys()].filter(isOffered);
  const live = atVersion(projection, status.version);
  const trx = await db.startTransaction().execute();
  try {
    await sql`
      select set_config('search_path', ${`${schemaNameOf(live)}, public`}, true) from public.cursors
      where projection = ${live.name} and version = ${live.version} and topic = ${topic} and partition = ${partition} for update`.execute(
      trx,
    );
    const refused = new Map<Delivery, string>();
    const refuse = (delivery: Delivery, reason: string) => refused.set(asked.get(delivery) ?? delivery, reason);
    for (const delivery of asked.keys())
      if (!isOffered(delivery)) refuse(delivery, `repeats or contradicts the record at offset ${delivery.repeats}`);
    const together = await attempt(trx, live, offered);
    if (together instanceof Map) {
      for (const [delivery, reason] of together) refuse(delivery, reason);
      return refused;
    }
    // Postgres refused a value of one of them, or a key was taken meanwhile: asked one after the other, each has its answer
    for (const delivery of offered) {
      const said = await attempt(trx, live, [delivery]);
      if (said instanceof Map) for (const [which, reason] of said) refuse(which, reason);
      else refuse(delivery, cannotStore(said.fault));
    }
    return refused;
  } finally {
    await trx.rollback().execute();
  }
}

/** Marks deliveries of one partition that repeat or contradict an earlier record; each with the one it was marked from. */
async function marked(db: Db, deliveries: readonly Delivery[]): Promise<ReadonlyMap<Delivery, Delivery>> {
  const items = deliveries.map((delivery) => ({ kind: 'event', delivery }) as const);
  const { topic = '', partition = 0 } = deliveries[0] ?? {};
  const [slice] = await markRepeated(db, [{ topic, partition, from: 0, next: 0, items }]);
  return new Map((slice?.items ?? []).map(({ delivery }, i) => [delivery, deliveries[i] ?? delivery]));
}

/** Folds deliveries behind those before, or leaves the tables as they were where Postgres refuses a value or a key. */
async function attempt(
  trx: Trx,
  projection: Projection,
  deliveries: readonly Delivery[],
): Promise<Map<Delivery, string> | { readonly fault: unknown }> {
  await sql`savepoint offer`.execute(trx);
  try {
    const poison = await foldEvents(projection, deliveries, trx);
    return new Map(poison.map(({ delivery, field, reason }) => [delivery, `${field} ${reason}`]));
  } catch (fault) {
    if (!isRejectedByPostgres(fault)) throw fault;
    await sql`rollback to savepoint offer`.execute(trx);
    return { fault };
  }
}
