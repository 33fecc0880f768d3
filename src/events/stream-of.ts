import { formatUuid } from '../domain/ids.ts';
import { catalogue, type EventType } from './catalogue.ts';

const SHA256 = /^[0-9a-f]{64}$/;

/**
 * Returns the stream of an event from its data: the id that the catalogue names. What is named by its content (a segment, by its
 * SHA-256) has as its stream the UUIDv8 of the digest's first 16 bytes, so that a stream is a UUID everywhere and equal content
 * is one stream, whoever wrote it. Undefined when the data lacks the field.
 */
export function streamOf(type: EventType, data: unknown): string | undefined {
  if (typeof data !== 'object' || data === null) return undefined;
  const named = (data as Record<string, unknown>)[catalogue[type].stream]; // an object, as just seen
  if (typeof named !== 'string') return undefined;
  return SHA256.test(named) ? formatUuid(Buffer.from(named.slice(0, 32), 'hex'), 8) : named;
}

/** Reports that a stream belongs to another topic than the one that an event would bring it to, and what to do. */
export function streamTaken(stream: string, home: string, topic: string): { readonly message: string; readonly remedy: string } {
  return {
    message: `the id ${stream} names a stream of topic ${home}, and an event of topic ${topic} would put it in both`,
    remedy: 'give runs, trees, datasets and lineages ids of their own',
  };
}
