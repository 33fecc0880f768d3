import { sql } from 'kysely';
import type { Db, Trx } from '../postgres/database.ts';
import { SILENCE_MS } from '../postgres/hold-transaction.ts';
import { settled } from '../postgres/side-by-side.ts';
import { transactionAhead } from '../postgres/transaction-ahead.ts';
import { CursorMoved, concerning, foldAndWrite } from './apply-slice.ts';
import type { Pass } from './apply-together.ts';
import type { Projection } from './projection.ts';

/** What became of the slices that were offered to projections together. */
export interface AppliedGroup {
  readonly applied: ReadonlySet<Pass>;
  readonly quarantined: ReadonlyMap<Projection, number>;
}

/**
 * Offers slices of several partitions to several projections, in one transaction: they fold side by side, and their statements
 * go out as they come, so that a small slice takes a handful of round trips. All succeed or none. A slice that does not begin at
 * the cursor, or whose cursor somebody holds, is left out. Everything is left to `applyTogether` when this throws: one projection
 * may be to blame, and is alone there.
 * @param schemas of all projections that may be folded: one search path, by which what a session prepared stays valid.
 */
export async function applyGroup(db: Db, schemas: readonly string[], offered: readonly Pass[]): Promise<AppliedGroup> {
  return transactionAhead(db, settingOf(schemas), async (trx) => {
    const taken = await lockCursors(trx, offered);
    const quarantined = new Map<Projection, number>();
    const projections = [...new Set(taken.map(({ projection }) => projection))];
    await settled(
      projections.map(async (projection) => {
        const mine = taken.flatMap((pass) => (pass.projection === projection ? [pass.slice] : []));
        const parts = mine.map((slice) => ({ ...slice, items: concerning(projection, slice) }));
        const refused = await foldAndWrite(
          trx,
          projection,
          parts.filter(({ items }) => items.length > 0),
        );
        if (refused > 0) quarantined.set(projection, refused);
      }),
    );
    await moveCursors(trx, taken);
    return { applied: new Set(taken), quarantined };
  });
}

/**
 * Plans are made once in a session, and read by keys whatever the tables held then: what a slice names is looked up row by row.
 */
function settingOf(schemas: readonly string[]): string {
  const local = {
    synchronous_commit: 'off',
    idle_in_transaction_session_timeout: `'${SILENCE_MS}ms'`,
    lock_timeout: `'1s'`, // who holds a table of one projection for long does not hold up the others
    enable_seqscan: 'off',
    enable_hashjoin: 'off',
    enable_mergejoin: 'off',
    plan_cache_mode: 'force_generic_plan',
    jit: 'off',
    search_path: [...schemas, 'public'].join(', '),
  };
  return Object.entries(local)
    .map(([name, value]) => `set local ${name} = ${value}`)
    .join('; ');
}

/** Locks the cursors that stand where their slice begins; one that somebody holds is passed over. Returns them by place. */
async function lockCursors(trx: Trx, offered: readonly Pass[]): Promise<readonly Pass[]> {
  const { rows } = await sql<{ at: number }>`
    select a.at::int from unnest(
      ${offered.map(({ projection }) => projection.name)}::text[], ${offered.map(({ projection }) => projection.version)}::int[],
      ${offered.map(({ slice }) => slice.topic)}::text[], ${offered.map(({ slice }) => slice.partition)}::int[],
      ${offered.map(({ slice }) => slice.from)}::bigint[]
    ) with ordinality as a (projection, version, topic, partition, start, at)
    join public.cursors c on (c.projection, c.version, c.topic, c.partition) = (a.projection, a.version, a.topic, a.partition)
    where c.next_offset = a.start for update of c skip locked`.execute(trx);
  return rows.flatMap(({ at }) => offered[at - 1] ?? []).sort(byPlace);
}

async function moveCursors(trx: Trx, taken: readonly Pass[]): Promise<void> {
  if (taken.length === 0) return;
  const moved = await sql`
    update public.cursors c set next_offset = a.next, updated_at = now() from unnest(
      ${taken.map(({ projection }) => projection.name)}::text[], ${taken.map(({ projection }) => projection.version)}::int[],
      ${taken.map(({ slice }) => slice.topic)}::text[], ${taken.map(({ slice }) => slice.partition)}::int[],
      ${taken.map(({ slice }) => slice.from)}::bigint[], ${taken.map(({ slice }) => slice.next)}::bigint[]
    ) as a (projection, version, topic, partition, start, next)
    where (c.projection, c.version, c.topic, c.partition) = (a.projection, a.version, a.topic, a.partition)
      and c.next_offset = a.start`.execute(trx);
  if (moved.numAffectedRows !== BigInt(taken.length))
    throw new CursorMoved('cursors of a group of projections are no longer where they were locked');
}

function byPlace({ slice: a }: Pass, { slice: b }: Pass): number {
  return a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1;
}
