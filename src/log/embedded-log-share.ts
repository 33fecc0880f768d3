/** A partition that members of a group may own. */
export interface Shareable {
  readonly partitionId: number;
  readonly topicId: number;
  readonly partition: number;
}

/**
 * Returns which partitions belong to a member. Every member computes the same from the same list, so nobody has to lead:
 * partition p of a topic goes to one of the members that read this topic, in turn; the topic's id shifts the turn, so that topics
 * of one partition do not all go to the first member. Shares of a topic differ by at most one.
 * @param members topic id → the sessions that read it, in any order.
 */
export function shareOf(
  self: number,
  partitions: readonly Shareable[],
  members: ReadonlyMap<number, readonly number[]>,
): ReadonlySet<number> {
  const sorted = new Map([...members].map(([topicId, sessions]) => [topicId, [...sessions].sort((a, b) => a - b)]));
  const mine = partitions.filter(({ topicId, partition }) => {
    const sessions = sorted.get(topicId) ?? [];
    return sessions[(topicId + partition) % sessions.length] === self;
  });
  return new Set(mine.map(({ partitionId }) => partitionId));
}
