import type { ReleasedFrom } from './envelope.ts';

/**
 * Writes the record by which an event that waited in quarantine is appended again: what it said, byte for byte as far as JSON
 * keeps it (an old shape stays the old shape), and where it waited. A release of a release names the later place alone.
 * @param body the record that waited; it decodes, so that it is a JSON object.
 */
export function withRelease(body: string, { offset, at, reason }: ReleasedFrom): string {
  const envelope = JSON.parse(body) as object; // what decodes is an object
  return JSON.stringify({ ...envelope, released: { offset, at, reason } }); // in one order: the same release is the same bytes
}
