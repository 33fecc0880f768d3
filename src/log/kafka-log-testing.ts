import kafkajs from 'kafkajs';
import { until } from '../testing/until.ts';
import { installCodecs, ZSTD } from './kafka-log-codecs.ts';
import { topicConfiguration } from './kafka-log-topics.ts';

// Node sees only some of the names that this CommonJS package exports.
const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;
const { CompressionCodecs, ConfigResourceTypes, Kafka, KafkaJSNonRetriableError, logLevel } = kafkajs;

/** Makes the broker keep what is appended to a topic from now on in a codec, whatever the producer chose. */
export async function compressTopic(brokers: readonly string[], topic: string, codec: string): Promise<void> {
  await configureTopic(brokers, topic, { ...(await readOwnSettings(brokers, topic)), 'compression.type': codec });
}

/** Sets what is configured of a topic; what is not named has the default of the broker. */
export async function configureTopic(
  brokers: readonly string[],
  topic: string,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const admin = new Kafka({ brokers: [...brokers], clientId: 'testing', logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
    await admin.alterConfigs({
      validateOnly: false,
      resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries }],
    });
  } finally {
    await admin.disconnect();
  }
}

/** Returns what is configured of a topic itself. */
export async function readOwnSettings(brokers: readonly string[], topic: string): Promise<Readonly<Record<string, string>>> {
  return withAdmin(brokers, async (admin) => {
    const resources = [{ type: ConfigResourceTypes.TOPIC, name: topic }];
    const described = await admin.describeConfigs({ resources, includeSynonyms: false });
    const entries = described.resources[0]?.configEntries as readonly {
      configName: string;
      configValue: string;
      configSource: number;
    }[];
    return Object.fromEntries(
      entries.filter(({ configSource }) => configSource === 1).map(({ configName, configValue }) => [configName, configValue]),
    );
  });
}

/** Makes this process unable to read a codec, as kafkajs is before codecs are installed; returns what undoes it. */
export function forgetCodec(codec: 'zstd'): () => void {
  CompressionCodecs[ZSTD] = () => {
    // The class that kafkajs throws for a codec it lacks is not exported; it is recognised by its name.
    throw Object.assign(new KafkaJSNonRetriableError(`${codec} compression not implemented`), { name: 'KafkaJSNotImplemented' });
  };
  return installCodecs;
}

/** Adds partitions to topics, as an administrator of a cluster does. */
export async function growTopics(brokers: readonly string[], topics: readonly string[], count: number): Promise<void> {
  await withAdmin(brokers, (admin) =>
    admin.createPartitions({ topicPartitions: topics.map((topic) => ({ topic, count })) }).then(() => undefined),
  );
}

/** Deletes the first half of what each partition of a topic holds. Returns how many records are gone. */
export async function deleteHalf(brokers: readonly string[], topic: string): Promise<number> {
  return withAdmin(brokers, async (admin) => {
    const offsets = (await admin.fetchTopicOffsets(topic)).map(({ partition, high }) => ({
      partition,
      offset: String(Math.ceil(Number(high) / 2)),
    }));
    const partitions = offsets.filter(({ offset }) => offset !== '0');
    await admin.deleteTopicRecords({ topic, partitions });
    return partitions.reduce((sum, { offset }) => sum + Number(offset), 0);
  });
}

/** Deletes a topic and makes it again, empty. */
export async function remakeTopic(brokers: readonly string[], topic: string, numPartitions: number): Promise<void> {
  await withAdmin(brokers, async (admin) => {
    await admin.deleteTopics({ topics: [topic] });
    // The broker deletes after its answer: until it has, the name is taken. It makes a topic after its answer, too.
    const topics = [topicConfiguration(topic, numPartitions, 1, {})];
    await until(() => admin.createTopics({ topics, waitForLeaders: false }).catch(() => false));
    await until(() =>
      admin.fetchTopicOffsets(topic).then(
        () => true,
        () => false,
      ),
    );
  });
}

/** Takes all rights on a consumer group from a user. */
export async function denyGroup(brokers: readonly string[], user: string, group: string): Promise<void> {
  const entry = {
    resourceType: AclResourceTypes.GROUP,
    resourceName: group,
    resourcePatternType: ResourcePatternTypes.LITERAL,
    principal: `User:${user}`,
    host: '*',
    operation: AclOperationTypes.ALL,
    permissionType: AclPermissionTypes.DENY,
  };
  await withAdmin(brokers, (admin) => admin.createAcls({ acl: [entry] }));
}

async function withAdmin<T>(
  brokers: readonly string[],
  use: (admin: ReturnType<InstanceType<typeof Kafka>['admin']>) => Promise<T>,
): Promise<T> {
  const admin = new Kafka({ brokers: [...brokers], clientId: 'testing', logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    return await use(admin);
  } finally {
    await admin.disconnect();
  }
}
