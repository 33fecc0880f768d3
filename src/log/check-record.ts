import { type LogRecord, RECORD_LIMIT, RecordTooLarge } from './event-log.ts';

/** Refuses a record that no log takes. @throws RangeError on a missing key; RecordTooLarge. */
export function checkRecord({ topic, key, value }: LogRecord): void {
  if (typeof key !== 'string' || key === '') throw new RangeError(`a record of ${topic} needs a key: it chooses the partition`);
  if (key.includes('\0')) throw new RangeError(`a key of ${topic} holds a NUL character, which Postgres cannot store`);
  const bytes = Buffer.byteLength(key) + value.byteLength;
  if (bytes <= RECORD_LIMIT) return;
  throw new RecordTooLarge(
    `a record of ${topic} has ${bytes} bytes, the limit is ${RECORD_LIMIT}; put large payloads into the blob store`,
    { limit: RECORD_LIMIT },
  );
}
