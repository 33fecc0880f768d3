import type { RequeuedFrom } from './envelope.ts';

/**
 * Writes the record by which an event that waited in quarantine is appended again: its fields as they were
 * (an old shape stays the old shape), and the place of the record that waited. A record that was requeued twice names only the later place.
 * @param body the record that waited; it decodes, so that it is a JSON object.
 */
export function withRequeue(body: string, { offset, at, reason }: RequeuedFrom): string {
  const envelope = JSON.parse(body) as object; // a record that decodes is an object
  return JSON.stringify({ ...envelope, released: { offset, at, reason } }); // in one order: equal requeues have equal bytes
}
