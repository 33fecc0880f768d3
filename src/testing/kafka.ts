import { kafkaPrerequisites, type RunningKafka, startKafka } from '../../infra/kafka/start-kafka.ts';

/** Passes to the test workers, which inherit the environment, where the run's broker is, or why there is none. */
const BROKERS = 'ESPALIER_TEST_KAFKA_BROKERS';
const MISSING = 'ESPALIER_TEST_KAFKA_MISSING';

// On globalThis: jest loads the setup and the teardown each on its own.
const holder = globalThis as { espalierTestKafka?: RunningKafka };

/**
 * Starts the broker of a test run; jest's global setup calls it when `.e2e` files are among the chosen. `KAFKA_BROKERS`
 * overrides. Where Java or Maven is missing those tests are skipped with the reason, but never in CI or when
 * ESPALIER_REQUIRE_KAFKA is 1.
 * @throws Error with what to install.
 */
export async function startKafkaForTests(folder: string): Promise<void> {
  if (process.env.KAFKA_BROKERS || process.env[BROKERS]) return;
  const prerequisites = kafkaPrerequisites();
  if (!prerequisites.ok) {
    if (kafkaIsRequired()) throw new Error(prerequisites.reason);
    process.env[MISSING] = prerequisites.reason;
    process.stderr.write(`Kafka tests are skipped: ${prerequisites.reason}\n`); // jest shows no names of skipped files
    return;
  }
  holder.espalierTestKafka = await startKafka({ folder });
  process.env[BROKERS] = holder.espalierTestKafka.brokers.join(',');
}

/** Stops the broker that `startKafkaForTests` started, if it did. */
export async function stopKafkaForTests(): Promise<void> {
  await holder.espalierTestKafka?.kill(); // nobody misses its data
  delete holder.espalierTestKafka;
  delete process.env[BROKERS];
}

/** Returns the broker of this test run. @throws Error with the reason when there is none. */
export async function kafkaForTests(): Promise<{ readonly brokers: readonly string[] }> {
  const brokers = process.env.KAFKA_BROKERS || process.env[BROKERS];
  if (!brokers)
    throw new Error(whyNoKafka() ?? 'this run has no Kafka broker: the file must be named *.e2e.test.ts for one to be started');
  return { brokers: brokers.split(',') };
}

/** Returns the reason why Kafka tests are skipped in this run, or undefined when they run. */
export function whyNoKafka(): string | undefined {
  return process.env.KAFKA_BROKERS || kafkaIsRequired() ? undefined : process.env[MISSING];
}

function kafkaIsRequired(): boolean {
  const { CI, ESPALIER_REQUIRE_KAFKA } = process.env;
  return (CI !== undefined && CI !== '' && CI !== 'false') || ESPALIER_REQUIRE_KAFKA === '1';
}
