import { type Envelope, identityOf } from '../../events/envelope.ts';
import type { Db } from '../../postgres/database.ts';
import { readDeclarations } from '../../projections/read-declarations.ts';
import type { Cache } from '../../runtime/cache.ts';
import type { Problem } from '../reply.ts';
import type { Sent } from './check-events.ts';

/** The event that assigned a reward. */
export interface Assignment {
  /** By `identityOf`. */
  readonly identity: string;
  readonly epoch: number | undefined;
}

export interface RewardWorld {
  readonly db: Db;
  /** What this process appended lately, by reward. */
  readonly recent: Cache<Assignment>;
  /** Whether an event is known to be on record, by `identityOf`. */
  readonly isOnRecord: (identity: string) => boolean;
}

export type AssignedAgain =
  | { readonly kind: 'none' }
  | { readonly kind: 'again'; readonly problems: readonly Problem[] }
  /** The read models have the reward and do not say by which event: it may be this one, while the journal is behind them. */
  | { readonly kind: 'unless-repeated'; readonly problems: readonly Problem[] };

/**
 * Finds new events that assign a reward which another event assigned before: earlier in the request, lately, or in the read
 * models. The fold keeps the first value, so such an event would be accepted without an effect.
 */
export async function assignedAgain(events: readonly Sent[], { db, recent, isOnRecord }: RewardWorld): Promise<AssignedAgain> {
  const fresh: Reward[] = [];
  const here = new Map<string, Reward>();
  for (const { index, event } of events) {
    if (event.type !== 'RewardAssigned') continue;
    const reward = { index, event, identity: identityOf(event) };
    if (isOnRecord(reward.identity)) here.set(event.data.rewardId, reward);
    else fresh.push(reward);
  }
  const certain: Problem[] = [];
  const unknown: Reward[] = [];
  for (const reward of fresh) {
    const { rewardId } = reward.event.data;
    const before = here.get(rewardId);
    const lately = recent.get(rewardId);
    if (before) certain.push(problemOf(reward, `event ${before.index} of this request assigns reward ${rewardId}`));
    else if (lately && lately.identity !== reward.identity && isProof(lately, reward)) certain.push(onRecord(reward));
    else if (lately?.identity !== reward.identity) unknown.push(reward);
    if (!before) here.set(rewardId, reward);
  }
  if (certain.length > 0) return { kind: 'again', problems: certain };
  if (unknown.length === 0) return { kind: 'none' };
  const ids = unknown.map(({ event }) => event.data.rewardId);
  const known = new Set((await readDeclarations(db, 'reward', ids)).map(({ id }) => id));
  const problems = unknown.filter(({ event }) => known.has(event.data.rewardId)).map(onRecord);
  return problems.length > 0 ? { kind: 'unless-repeated', problems } : { kind: 'none' };
}

interface Reward {
  readonly index: number;
  readonly event: Envelope<'RewardAssigned'>;
  readonly identity: string;
}

/** An event of another epoch is no proof: what a replaced producer appended last may have no effect. */
function isProof({ epoch }: Assignment, { event }: Reward): boolean {
  return epoch === undefined || epoch === event.epoch;
}

function onRecord(reward: Reward): Problem {
  return problemOf(reward, `reward ${reward.event.data.rewardId} is on record`);
}

function problemOf({ index, event: { id } }: Reward, message: string): Problem {
  return {
    index,
    id,
    path: 'data.rewardId',
    message,
    remedy: 'change its value by RewardRevised; another reward has an id of its own',
  };
}
