import { rm } from 'node:fs/promises';
import { startKafka } from '../kafka/start-kafka.ts';

/** The laboratory's own broker, which may be killed and comes back on the same folder and port. */
export interface OwnBroker {
  readonly brokers: readonly string[];
  /** Kills it with SIGKILL, does something while it is away, and starts it again over its data. */
  kill(meanwhile: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** Starts a broker with data of its own. */
export async function startOwnBroker(): Promise<OwnBroker> {
  let kafka = await startKafka();
  const { brokers, folder, port } = kafka;
  return {
    brokers,
    async kill(meanwhile) {
      await kafka.kill();
      await meanwhile();
      kafka = await startKafka({ folder, port });
    },
    async close() {
      await kafka.kill(); // nobody misses its data
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
