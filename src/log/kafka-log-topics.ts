import kafkajs, { type Admin, AssignerProtocol } from 'kafkajs';
import { smallest } from '../domain/extremes.ts';
import { LogError, RECORD_LIMIT } from './event-log.ts';
import { isForbidden } from './kafka-log-errors.ts';

/** How many copies a topic has, and how many of them must hold a record before it counts as durable. */
export interface TopicOptions {
  /** Three where it is left out, or as many as there are brokers. */
  readonly replication?: number | undefined;
  /** One less than the copies where it is left out, and one at least. */
  readonly minInsync?: number | undefined;
  /** Hears which topics have fewer copies than they would be made with, where nothing is configured. */
  readonly note?: ((text: string) => void) | undefined;
}

const MIN_INSYNC = 'min.insync.replicas';
const TIMES = 'message.timestamp.type';
const BY_BROKER = 'LogAppendTime'; // the broker says when it took a record, no producer
const LARGEST = 'max.message.bytes';
const LARGEST_BATCH = RECORD_LIMIT + 64 * 1024; // the rest is framing
const COMPARED = [MIN_INSYNC, TIMES, LARGEST];
const COPIES = 3;

/** Returns how a topic is made in a cluster of so many brokers. @throws LogError `fatal` when a record could never be durable. */
export function topicConfiguration(topic: string, numPartitions: number, brokers: number, options: TopicOptions) {
  const replicationFactor = options.replication ?? usualCopies(brokers);
  const minInsync = options.minInsync ?? Math.max(1, replicationFactor - 1);
  if (minInsync > replicationFactor) {
    throw new LogError(
      'fatal',
      `topic ${topic} would have ${replicationFactor} copies, and ${minInsync} are to hold each record; lower ESPALIER_KAFKA_MIN_INSYNC or raise ESPALIER_KAFKA_REPLICATION`,
    );
  }
  return {
    topic,
    numPartitions,
    replicationFactor,
    configEntries: [
      { name: 'cleanup.policy', value: 'delete' },
      { name: 'retention.ms', value: '-1' }, // facts are for ever; Kafka's default forgets them after a week
      { name: TIMES, value: BY_BROKER },
      { name: 'compression.type', value: 'producer' }, // as sent: we read every codec
      { name: LARGEST, value: String(LARGEST_BATCH) },
      { name: MIN_INSYNC, value: String(minInsync) },
    ],
  };
}

function usualCopies(brokers: number): number {
  return Math.min(COPIES, brokers);
}

/** Names the topics that have fewer copies than topics are made with in a cluster of so many brokers; null where none has. */
export function fewCopies(copies: ReadonlyMap<string, number>, brokers: number): string | null {
  const usual = usualCopies(brokers);
  const few = [...copies].filter(([, count]) => count < usual).map(([topic, count]) => `${topic} (${count})`);
  if (few.length === 0) return null;
  return `topics have fewer than ${usual} copies in a cluster of ${brokers} brokers, and are lost with theirs: ${few.join(', ')}; reassign their partitions, or set ESPALIER_KAFKA_REPLICATION to the copies that they are to have`;
}

/**
 * Refuses topics of another shape than ours, with the setting to change: those with fewer copies than are configured, whose records
 * the broker does not date, or which do not take every record. What may not be read is not compared. @throws LogError `fatal`.
 */
export async function checkTopics(admin: Admin, topics: readonly string[], options: TopicOptions): Promise<void> {
  const { replication, minInsync = 1, note } = options;
  if (topics.length === 0) return; // which kafkajs would take for all
  const { topics: existing } = await admin.fetchTopicMetadata({ topics: [...topics] });
  const copies = new Map(
    existing.map(({ name, partitions }) => [name, smallest(partitions.map(({ replicas }) => replicas.length))] as const),
  );
  for (const [name, count] of copies) {
    if (replication !== undefined && count < replication)
      throw refusal(
        name,
        `has ${count} of the ${replication} copies that are configured; reassign its partitions, or lower the setting`,
      );
  }
  if (note && replication === undefined) {
    const few = fewCopies(copies, (await admin.describeCluster()).brokers.length);
    if (few !== null) note(few);
  }
  const resources = topics.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name, configNames: [...COMPARED] }));
  const { resources: described } = await admin.describeConfigs({ resources, includeSynonyms: false }).catch((error: unknown) => {
    if (minInsync > 1 || !isForbidden(error)) throw error;
    return { resources: [] }; // kafkajs throws on the first topic that it may not describe
  });
  for (const { resourceName, configEntries } of described) {
    const settings = new Map(configEntries.map(({ configName, configValue }) => [configName, configValue]));
    const held = Number(settings.get(MIN_INSYNC));
    if (held < minInsync)
      throw refusal(resourceName, `has ${MIN_INSYNC} ${held}, and ${minInsync} is configured; raise it, or lower the setting`);
    if (settings.get(TIMES) !== BY_BROKER)
      throw refusal(
        resourceName,
        `has ${TIMES} ${settings.get(TIMES)}, so that no time in the past could be asked for; ${set(TIMES, BY_BROKER)}`,
      );
    if (Number(settings.get(LARGEST)) < LARGEST_BATCH)
      throw refusal(
        resourceName,
        `has ${LARGEST} ${settings.get(LARGEST)}, less than records may have; ${set(LARGEST, LARGEST_BATCH)}`,
      );
  }
}

function set(name: string, value: string | number): string {
  return `set it: kafka-configs.sh --alter --entity-type topics --add-config ${name}=${value}`;
}

function refusal(topic: string, what: string): LogError {
  return new LogError('fatal', `topic ${topic} ${what}`);
}

/**
 * Reads which partitions the members of a group were assigned, by topic; none of a group that is not there or shares them again.
 */
export async function readAssignments(
  admin: Pick<Admin, 'describeGroups'>,
  group: string,
): Promise<ReadonlyMap<string, ReadonlySet<number>>> {
  const { groups } = await admin.describeGroups([group]);
  const assigned = new Map<string, Set<number>>();
  for (const { memberAssignment } of groups.flatMap(({ members }) => members)) {
    if (memberAssignment.length === 0) continue; // while a group is shared nobody is assigned anything
    const { assignment = {} } = AssignerProtocol.MemberAssignment.decode(memberAssignment) ?? {};
    for (const [topic, partitions] of Object.entries(assignment))
      assigned.set(topic, new Set([...(assigned.get(topic) ?? []), ...partitions]));
  }
  return assigned;
}
