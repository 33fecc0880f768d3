import { sql } from 'kysely';
import type { DataOf } from '../../events/catalogue.ts';
import type { Db } from '../../postgres/database.ts';

/** One judgement of a reward, and its place in the log. */
export interface Judgement {
  readonly eventId: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly value: number;
  /** `NAME@REVISION`. */
  readonly scorer: string;
}

/** A reward with every judgement of it, the first one first. */
export interface JudgedReward {
  readonly rewardId: string;
  readonly stepId: string | null;
  readonly rolloutId: string | null;
  readonly component: string;
  readonly judgements: readonly Judgement[];
}

export interface JudgedTree {
  /** In the order of their ids. */
  readonly rewards: readonly JudgedReward[];
  /** Rollout → the place of its end in the log. */
  readonly finished: ReadonlyMap<string, Pick<Judgement, 'topic' | 'partition' | 'offset'>>;
}

/**
 * Reads every judgement of the rewards of a tree, from the journal: the read model keeps no scorer of a first judgement that
 * was revised.
 */
export async function readJudged(db: Db, treeId: string): Promise<JudgedTree> {
  const { rows } = await sql<Row>`
    select event_id, p.topic, p.partition, p."offset", e.type, e.body::jsonb -> 'data' as data
    from (
      select event_id, stream, topic, partition, "offset" from events where stream = ${treeId}
      union
      select event_id, stream, topic, partition, "offset" from requeued_records where stream = ${treeId}
    ) p join events e using (event_id, stream)
    where e.type in ('RewardAssigned', 'RewardRevised', 'RolloutFinished') order by p.topic, p.partition, p."offset"`.execute(db);
  const revised = new Set<string>();
  const rewards = new Map<string, JudgedReward & { readonly judgements: Judgement[] }>();
  const finished = new Map<string, Pick<Judgement, 'topic' | 'partition' | 'offset'>>();
  for (const { type, data, ...place } of rows) {
    if (type === 'RolloutFinished') {
      if (!finished.has(data.rolloutId)) finished.set(data.rolloutId, place); // the first end is the fact
      continue;
    }
    const judgement = { ...place, value: data.value, scorer: `${data.scorer.name}@${data.scorer.revision}` };
    const known = rewards.get(data.rewardId);
    if (type === 'RewardRevised') {
      // One of a reward that was not assigned before it is in the quarantine, and counts from where it was requeued.
      if (!known || revised.has(place.eventId)) continue;
      revised.add(place.eventId);
      known.judgements.push(judgement);
    } else if (!known) {
      const { rewardId, stepId, rolloutId, component } = data;
      rewards.set(rewardId, { rewardId, stepId, rolloutId, component, judgements: [judgement] });
    }
  }
  return { rewards: [...rewards.values()].sort((a, b) => (a.rewardId < b.rewardId ? -1 : 1)), finished };
}

/** The journal holds what was decoded once, so data is as its type says. */
type Row = Pick<Judgement, 'eventId' | 'topic' | 'partition' | 'offset'> &
  (
    | { readonly type: 'RewardAssigned'; readonly data: DataOf<'RewardAssigned'> }
    | { readonly type: 'RewardRevised'; readonly data: DataOf<'RewardRevised'> }
    | { readonly type: 'RolloutFinished'; readonly data: DataOf<'RolloutFinished'> }
  );
