import kafkajs, { type Admin } from 'kafkajs';
import type { UndatedTopic } from './event-log.ts';

const TIMES = 'message.timestamp.type';
const BY_BROKER = 'LogAppendTime';
const OF_TOPIC = 1; // the source of what is configured of the topic itself, as opposed to the broker and the defaults

/** Returns the topics whose records are dated by their producers, with what else is configured of each. */
export async function readUndated(admin: Admin, topics: readonly string[]): Promise<readonly UndatedTopic[]> {
  const resources = topics.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name }));
  const { resources: described } = await admin.describeConfigs({ resources, includeSynonyms: false });
  return described.flatMap(({ resourceName, configEntries }) => {
    const times = configEntries.find(({ configName }) => configName === TIMES)?.configValue;
    if (times === BY_BROKER) return [];
    // `configSource` is of kafkajs, which its types leave out.
    const own = (configEntries as readonly ((typeof configEntries)[number] & { readonly configSource?: number })[]).filter(
      ({ configName, configSource }) => configSource === OF_TOPIC && configName !== TIMES,
    );
    const settings = Object.fromEntries(own.map(({ configName, configValue }) => [configName, configValue]));
    return [{ topic: resourceName, settings }];
  });
}

/**
 * Makes the broker date the records of a topic from now on. kafkajs knows no incremental change: what is configured of the topic
 * is replaced by what is written here, so that all of it is written again.
 */
export async function dateTopic(admin: Admin, { topic, settings }: UndatedTopic): Promise<void> {
  const configEntries = Object.entries({ ...settings, [TIMES]: BY_BROKER }).map(([name, value]) => ({ name, value }));
  await admin.alterConfigs({
    validateOnly: false,
    resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configEntries }],
  });
}
