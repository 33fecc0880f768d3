/** Where a record lies in the log. */
export interface LogPlace {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

const PLACE = /^([A-Za-z0-9._-]+)\.(\d{1,9}):(\d{1,15})$/;

/** Returns the place that a text such as `trees.0:41` names; undefined of any other text. */
export function parsePlace(text: string): LogPlace | undefined {
  const [, topic, partition, offset] = PLACE.exec(text) ?? [];
  return topic === undefined ? undefined : { topic, partition: Number(partition), offset: Number(offset) };
}

/** Formats a place for people: `trees.0:41`. */
export function describePlace({ topic, partition, offset }: LogPlace): string {
  return `${topic}.${partition}:${offset}`;
}
