import { INLINE_LIMIT, type PreparedRecord, recordOf } from '../../append/prepare-events.ts';
import { fittingEvent } from '../../events/codec.ts';
import type { Stamp } from '../../events/envelope.ts';
import { freeFormFields } from '../../events/free-form.ts';
import { unsafePart } from './unsafe-part.ts';

/**
 * Returns the record of an event to which nothing has to be done: it fits its schema as it is, its text can be stored and is
 * short enough to stay, and it names no payload. What must not be there is looked for in its encoded text, which is needed
 * anyway: a walk over the event for each took as long as the schema. Undefined for any other, which is checked part by part.
 */
export function fittingRecord(value: unknown, stamp: Stamp): PreparedRecord | undefined {
  const event = fittingEvent(value, stamp);
  // a schema bounds the depth and the keys of all but its free-form parts
  if (!event || (freeFormFields(event.type).size > 0 && unsafePart(value))) return undefined;
  const text = JSON.stringify(event);
  if (text.includes('\\u') || text.includes('"blob":')) return undefined;
  const bytes = Buffer.from(text, 'utf8');
  return bytes.byteLength <= INLINE_LIMIT ? recordOf(event, bytes) : undefined;
}
