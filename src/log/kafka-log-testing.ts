import kafkajs from 'kafkajs';
import { installCodecs, ZSTD } from './kafka-log-codecs.ts';

// Node sees only some of the names that this CommonJS package exports.
const { CompressionCodecs, ConfigResourceTypes, Kafka, KafkaJSNonRetriableError, logLevel } = kafkajs;

/** Makes the broker keep what is appended to a topic from now on in a codec, whatever the producer chose. */
export async function compressTopic(brokers: readonly string[], topic: string, codec: string): Promise<void> {
  await configureTopic(brokers, topic, { 'compression.type': codec, 'max.message.bytes': String(4 * 1024 * 1024) });
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

/** Makes this process unable to read a codec, as kafkajs is before codecs are installed; returns what undoes it. */
export function forgetCodec(codec: 'zstd'): () => void {
  CompressionCodecs[ZSTD] = () => {
    // The class that kafkajs throws for a codec it lacks is not exported; it is recognised by its name.
    throw Object.assign(new KafkaJSNonRetriableError(`${codec} compression not implemented`), { name: 'KafkaJSNotImplemented' });
  };
  return installCodecs;
}
