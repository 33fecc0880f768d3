import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import kafkajs, { type Admin } from 'kafkajs';
import { BATCH_OVERHEAD, sizeOf } from './append-queue.ts';
import { type LogRecord, RecordTooLarge } from './event-log.ts';

const LIMIT = 'max.message.bytes';

/**
 * Reads the most bytes of a record batch that each topic takes. Topics whose configuration may not be read are left out: the
 * broker then says so when it refuses one.
 */
export async function readTopicLimits(admin: Admin, topics: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const resources = topics.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name, configNames: [LIMIT] }));
  // kafkajs throws on the first topic that it may not describe
  const described = await admin.describeConfigs({ resources, includeSynonyms: false }).catch(() => ({ resources: [] }));
  const limits = new Map<string, number>();
  for (const { resourceName, configEntries } of described.resources) {
    const limit = Number(configEntries.find(({ configName }) => configName === LIMIT)?.configValue);
    if (Number.isSafeInteger(limit) && limit > 0) limits.set(resourceName, limit);
  }
  return limits;
}

/** Returns whether a record is over a limit as it is: compressed it may still fit. */
export function maySurpass(record: LogRecord, limit: number): boolean {
  return sizeOf(record) + BATCH_OVERHEAD > limit;
}

/**
 * Refuses a record that a topic does not take, before anything of its append is sent. @throws RecordTooLarge with the remedy.
 */
export async function checkTopicLimit(record: LogRecord, limit: number, compression: 'none' | 'gzip'): Promise<void> {
  if (!maySurpass(record, limit)) return;
  const bytes = compression === 'gzip' ? (await promisify(gzip)(record.value)).byteLength : record.value.byteLength;
  if (bytes + Buffer.byteLength(record.key) + BATCH_OVERHEAD <= limit) return;
  throw new RecordTooLarge(
    `a record of ${record.topic} has ${sizeOf(record)} bytes, and the topic takes ${limit} (${LIMIT}); raise it, or split the record`,
    { limit },
  );
}
