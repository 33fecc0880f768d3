import { sql } from 'kysely';
import type { DataOf } from '../../events/catalogue.ts';
import type { Offsets } from '../../log/event-log.ts';
import { formatPosition } from '../../log/position.ts';
import type { Db, Trx } from '../../postgres/database.ts';
import { readRecords } from '../as-of/read-records.ts';
import { decodeRecords } from '../decode-records.ts';
import { markRepeated } from '../journal/mark-repeated.ts';
import { keyInTree } from '../of-tree.ts';
import { readCursors } from '../projection-statuses.ts';
import { foldBatch } from './fold-batch.ts';
import { rewardStateOf } from './load-reward-state.ts';

const TOPIC = 'trees';

/**
 * Returns the position up to which rewards are folded. Asked in the snapshot in which rewards are read, it says which those were.
 */
export async function readRewardsPosition(snapshot: Trx): Promise<string> {
  const offsets = (await readCursors(snapshot)).get('rewards')?.get(TOPIC);
  return formatPosition(offsets ? new Map([[TOPIC, offsets]]) : new Map());
}

/** A reward as it was. */
export interface CurrentReward {
  readonly assigned: DataOf<'RewardAssigned'>;
  readonly value: number;
  readonly scorer: { readonly name: string; readonly revision: string };
  readonly revisions: number;
  readonly assignedAt: string;
  readonly revisedAt: string | null;
}

const FOLDED = ['TreeOpened', 'RewardAssigned', 'RewardRevised'] as const;

/**
 * Folds the rewards of trees from the journal as of a position, by the fold of `rewards.ts`: revisions that came
 * later are left out, an event that was refused counts from the place of its requeue on, or not at all. The journal must hold the
 * log up to there.
 */
export async function foldRewardsAt(db: Db, trees: readonly string[], position: Offsets): Promise<readonly CurrentReward[]> {
  const below: Offsets = new Map([[TOPIC, position.get(TOPIC) ?? new Map<number, number>()]]);
  const refused = await readRefused(db, trees);
  // rewards of steps and rollouts that are not there the live version has refused
  const known = {
    ...rewardStateOf(),
    stepOf: () => ({ depth: 0, rolloutId: null }),
    hasTaken: () => true,
    rolloutOf: () => ({ fromStepId: '', fromDepth: 0 }),
  };
  const current = new Map<string, CurrentReward>();
  for await (const batch of readRecords(db, below, { kind: 'streams', streams: trees }, FOLDED)) {
    const slice = { ...batch, items: await decodeRecords(db, batch) };
    const [marked] = await markRepeated(db, [slice]);
    const read = (marked ?? slice).items.flatMap((item) => (item.kind === 'event' ? [item.delivery] : []));
    const counted = read.filter(
      ({ event, partition, offset, repeats }) =>
        repeats === undefined && (event.type === 'TreeOpened' || !refused.has(`${partition} ${offset}`)),
    );
    const { assigned, revised } = foldBatch(counted, known);
    for (const { data, occurredAt } of assigned)
      current.set(keyInTree(data.treeId, data.rewardId), {
        assigned: data,
        value: data.value,
        scorer: data.scorer,
        revisions: 0,
        assignedAt: occurredAt,
        revisedAt: null,
      });
    for (const { event, ordinal } of revised) {
      const { treeId, rewardId, value, scorer } = event.data;
      const key = keyInTree(treeId, rewardId);
      const before = current.get(key);
      if (before) current.set(key, { ...before, value, scorer, revisions: ordinal, revisedAt: event.occurredAt });
    }
  }
  return [...current.values()];
}

/**
 * Places at which the live version refused an event of these trees for a reason that this fold does not look for: a step or a
 * rollout that is not there or is another's, a sum that no number holds, a record that the program could not read then.
 */
async function readRefused(db: Db, trees: readonly string[]): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ partition: number; offset: number }>`
    select q.partition, q."offset" from quarantine q
    where q.projection = 'rewards' and q.topic = ${TOPIC} and (q.code in ('unstorable', 'missing-parent', 'missing-rollout', 'not-taken') or q.event_id is null)
      and (q.stream is null or q.stream = any(${[...trees]}::text[]))`.execute(db);
  return new Set(rows.map(({ partition, offset }) => `${partition} ${offset}`));
}
