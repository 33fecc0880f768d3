import kafkajs, { type Admin } from 'kafkajs';
import { LogError, RECORD_LIMIT } from './event-log.ts';

/** How many copies a topic has, and how many of them must hold a record before it counts as durable. */
export interface Replication {
  /** Three where it is left out, or as many as there are brokers. */
  readonly replication?: number | undefined;
  /** One less than the copies where it is left out, and one at least. */
  readonly minInsync?: number | undefined;
}

const MIN_INSYNC = 'min.insync.replicas';
const COPIES = 3;

/** Returns how a topic is made in a cluster of so many brokers. @throws LogError `fatal` when a record could never be durable. */
export function topicConfiguration(topic: string, numPartitions: number, brokers: number, options: Replication) {
  const replicationFactor = options.replication ?? Math.min(COPIES, brokers);
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
      { name: 'message.timestamp.type', value: 'LogAppendTime' }, // the broker says when it took a record, no producer
      { name: 'compression.type', value: 'producer' }, // as sent: we read every codec
      { name: 'max.message.bytes', value: String(RECORD_LIMIT + 64 * 1024) }, // the rest is framing
      { name: MIN_INSYNC, value: String(minInsync) },
    ],
  };
}

/** Refuses topics with fewer copies than are configured; what is not configured is not compared. @throws LogError `fatal`. */
export async function checkReplication(admin: Admin, topics: readonly string[], options: Replication): Promise<void> {
  const { replication = 1, minInsync = 1 } = options;
  if (topics.length === 0) return; // which kafkajs would take for all
  if (replication > 1) {
    const { topics: described } = await admin.fetchTopicMetadata({ topics: [...topics] });
    for (const { name, partitions } of described) {
      const copies = Math.min(...partitions.map(({ replicas }) => replicas.length));
      if (copies < replication)
        throw refusal(name, `has ${copies} of the ${replication} copies that are configured; reassign its partitions`);
    }
  }
  if (minInsync === 1) return;
  const resources = topics.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name, configNames: [MIN_INSYNC] }));
  const { resources: described } = await admin.describeConfigs({ resources, includeSynonyms: false });
  for (const { resourceName, configEntries } of described) {
    const held = Number(configEntries.find(({ configName }) => configName === MIN_INSYNC)?.configValue);
    if (held < minInsync) throw refusal(resourceName, `has ${MIN_INSYNC} ${held}, and ${minInsync} is configured; raise it`);
  }
}

function refusal(topic: string, what: string): LogError {
  return new LogError('fatal', `topic ${topic} ${what}, or lower the setting`);
}
