import { LogError, type LogRecord, RECORD_LIMIT } from './event-log.ts';

/** Refuses a record that no log takes. @throws RangeError on a missing key; LogError `too-large`. */
export function checkRecord({ topic, key, value }: LogRecord): void {
  if (typeof key !== 'string' || key === '') throw new RangeError(`a record of ${topic} needs a key: it chooses the partition`);
  if (key.includes('\0')) throw new RangeError(`a key of ${topic} holds a NUL character, which Postgres cannot store`);
  const bytes = Buffer.byteLength(key) + value.byteLength;
  if (bytes <= RECORD_LIMIT) return;
  throw new LogError(
    'too-large',
    `a record of ${topic} has ${bytes} bytes, the limit is ${RECORD_LIMIT}; put large payloads into the blob store`,
  );
}
