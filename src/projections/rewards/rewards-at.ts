import { sql } from 'kysely';
import type { DataOf } from '../../events/catalogue.ts';
import { decode } from '../../events/codec.ts';
import type { Offsets } from '../../log/event-log.ts';
import { formatPosition } from '../../log/position.ts';
import type { Db, Trx } from '../../postgres/database.ts';
import { readCursors } from '../wait-until.ts';

const TOPIC = 'trees';

/** Gives the position up to which rewards are folded. Asked in the snapshot in which rewards are read, it says which those were. */
export async function readRewardsPosition(snapshot: Trx): Promise<string> {
  const offsets = (await readCursors(snapshot)).get('rewards')?.get(TOPIC);
  return formatPosition(offsets ? new Map([[TOPIC, offsets]]) : new Map());
}

/** A reward as it stood. */
export interface StandingReward {
  readonly assigned: DataOf<'RewardAssigned'>;
  readonly value: number;
  readonly scorer: { readonly name: string; readonly revision: string };
  readonly revisions: number;
  readonly assignedAt: string;
  readonly revisedAt: string | null;
}

/** Folds the rewards of trees from the journal as they stood at a position, revisions that came later left out. The journal must hold the log up to there. */
export async function foldRewardsAt(db: Db, trees: readonly string[], position: Offsets): Promise<readonly StandingReward[]> {
  const below = position.get(TOPIC) ?? new Map<number, number>();
  const { rows } = await sql<{ partition: number; offset: string | number; body: string }>`
    select partition, "offset", body from events
    where stream = any(${[...trees]}::uuid[]) and type in ('RewardAssigned', 'RewardRevised')
    order by partition, "offset"`.execute(db);
  const standing = new Map<string, StandingReward>();
  for (const { partition, offset, body } of rows) {
    if (Number(offset) >= (below.get(partition) ?? 0)) continue;
    const decoded = decode(Buffer.from(body));
    if (decoded.kind !== 'event') continue; // it was set aside when it was folded, too
    const { event } = decoded;
    if (event.type === 'RewardAssigned' && !standing.has(event.data.rewardId)) {
      const { value, scorer } = event.data;
      standing.set(event.data.rewardId, {
        ...{ assigned: event.data, value, scorer, revisions: 0, assignedAt: event.occurredAt, revisedAt: null },
      });
    } else if (event.type === 'RewardRevised') {
      const { rewardId, treeId, value, scorer } = event.data;
      const before = standing.get(rewardId);
      if (before?.assigned.treeId !== treeId) continue;
      standing.set(rewardId, { ...before, value, scorer, revisions: before.revisions + 1, revisedAt: event.occurredAt });
    }
  }
  return [...standing.values()];
}
