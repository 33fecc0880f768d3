/** Where a record lies in the log. */
export interface Place {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

/** Formats a place for people: `trees.0:41`. */
export function describePlace({ topic, partition, offset }: Place): string {
  return `${topic}.${partition}:${offset}`;
}
