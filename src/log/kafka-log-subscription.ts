import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import { gathering } from '../runtime/gathering.ts';
import { isAbort } from '../runtime/is-abort.ts';
import { LogError, type SubscribeOptions, type Subscription } from './event-log.ts';
import { isPassedOver, isRefused, isTransient, toLogError } from './kafka-log-errors.ts';
import { sliceBatch } from './kafka-log-slices.ts';

export interface KafkaSubscribeOptions extends SubscribeOptions {
  /** Named in errors. */
  readonly brokers: readonly string[];
  /** How long the group waits for a sign of life before it reassigns a member's partitions to another, ms. */
  readonly sessionMs: number;
  /** How long a client may show no sign of life before it counts as dead, ms: kafkajs can go silent without an error (#659). */
  readonly silenceMs: number;
  /** Returns the error that says why the consumer crashed, where that one does not. */
  readonly whyCrashed: (error: unknown) => Promise<unknown>;
}

const BATCH_LIMIT = 1_000; // for who does not say; projections say 4,000 (infra/bench/project)
const PARTITIONS_AT_ONCE = 64; // of a fetch: the handler may take them as one (projections/runner.ts); no fetch begins before all are done
const PARTITION_BYTES = 4 * 1024 * 1024; // of a fetch: the 1 MiB of kafkajs would cut a batch of 1 KB events at about 900
// kafkajs fetches again only when all of a fetch is handled: with 10 MiB few partitions are in it
const FETCH_BYTES = 32 * 1024 * 1024;
const FETCH_WAIT_MS = 250; // the default of 5 s would also be how long a close takes
const HEARTBEAT_MS = 1_000; // a member notices a rebalance at a heartbeat only, so this is how long a new one waits
const DISCONNECT_MS = 10_000;
const RESTART_MS = 500;
const METADATA_MS = 30_000; // how long partitions that were added may go unread

/**
 * Subscribes by a consumer of its own and resolves once it joined the group. kafkajs reads; this class decides what is recorded:
 * an offset is committed only after the handler's answer, always as the *next* offset, before the following slice is handed over.
 */
export async function subscribeKafka(kafka: Kafka, options: KafkaSubscribeOptions): Promise<Subscription> {
  const subscription = new KafkaSubscription(kafka, options);
  await subscription.start();
  return subscription;
}

interface Commit {
  readonly payload: EachBatchPayload;
  readonly topic: string;
  readonly partition: number;
  readonly next: number;
}

/** One request for all: what kafkajs hands each partition commits for the member as a whole. */
async function commitTogether(commits: readonly Commit[]): Promise<void> {
  const topics = [...new Set(commits.map(({ topic }) => topic))].map((topic) => ({
    topic,
    partitions: commits
      .filter((commit) => commit.topic === topic)
      .map(({ partition, next }) => ({ partition, offset: String(next) })),
  }));
  await commits[0]?.payload.commitOffsetsIfNecessary({ topics });
}

class KafkaSubscription implements Subscription {
  readonly finished: Promise<void>;
  readonly #kafka: Kafka;
  readonly #options: KafkaSubscribeOptions;
  readonly #consumer: Consumer;
  readonly #abort = new AbortController();
  readonly #settle: { resolve(): void; reject(error: unknown): void };
  #ending: Promise<void> | undefined;
  readonly #commit = gathering(commitTogether);
  #lastSign = Date.now();
  #hasFetched = false;
  #handling = 0;
  #watchdog: NodeJS.Timeout | undefined;
  #restart: NodeJS.Timeout | undefined;

  constructor(kafka: Kafka, options: KafkaSubscribeOptions) {
    this.#kafka = kafka;
    this.#options = options;
    this.#consumer = kafka.consumer({
      groupId: options.group,
      allowAutoTopicCreation: false,
      metadataMaxAge: METADATA_MS,
      sessionTimeout: options.sessionMs,
      heartbeatInterval: Math.min(HEARTBEAT_MS, options.sessionMs / 3),
      maxWaitTimeInMs: FETCH_WAIT_MS,
      maxBytesPerPartition: PARTITION_BYTES,
      maxBytes: FETCH_BYTES,
      retry: { restartOnFailure: async () => this.#ending === undefined },
    });
    const settle = { resolve: (): void => undefined, reject: (_: unknown): void => undefined };
    this.finished = new Promise((resolve, reject) => {
      settle.resolve = resolve;
      settle.reject = reject;
    });
    this.#settle = settle;
  }

  async start(): Promise<void> {
    const consumer = this.#consumer;
    const { FETCH, GROUP_JOIN, HEARTBEAT, CRASH } = consumer.events;
    for (const event of [FETCH, GROUP_JOIN, HEARTBEAT]) consumer.on(event, () => this.#sign());
    consumer.on(FETCH, () => {
      this.#hasFetched = true;
    });
    consumer.on(GROUP_JOIN, ({ payload: { memberAssignment } }) => {
      this.#startAt(memberAssignment).catch((error: unknown) => this.#end({ error }));
    });
    consumer.on(CRASH, ({ payload: { error, restart } }) => {
      this.#sign();
      if (!restart) void this.#crashed(error); // else kafkajs connects again by itself
    });
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [...this.#options.topics], fromBeginning: true });
      await this.#read();
    } catch (error) {
      this.#end();
      throw error;
    }
    this.#watchdog = setInterval(() => this.#watch(), this.#options.silenceMs / 4).unref();
  }

  /** What is refused from the start is a missing right; later it is a password that changes, which is waited out. */
  async #crashed(crash: unknown): Promise<void> {
    const { group, brokers, whyCrashed } = this.#options;
    const error = this.#hasFetched ? crash : await whyCrashed(crash);
    if (this.#ending !== undefined) return;
    if (isTransient(error) || isPassedOver(error) || (this.#hasFetched && isRefused(error))) {
      this.#restart = setTimeout(() => this.#read().catch((fault: unknown) => this.#end({ error: fault })), RESTART_MS);
      return;
    }
    const { message } = toLogError(error, brokers, `the Kafka consumer of group ${group} crashed`);
    this.#end({ error: new LogError(isRefused(error) ? 'refused' : 'fatal', message, { cause: error }) });
  }

  async close(): Promise<void> {
    this.#end();
    await this.#ending;
  }

  async #read(): Promise<void> {
    await this.#consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: PARTITIONS_AT_ONCE,
      eachBatch: (payload) => this.#eachBatch(payload),
    });
  }

  async #eachBatch(payload: EachBatchPayload): Promise<void> {
    const { batch } = payload;
    const { topic, partition } = batch;
    // The class of kafkajs has `fetchedOffset`, its published type forgot it.
    for (const slice of sliceBatch(batch as typeof batch & { fetchedOffset: string }, this.#options.batchLimit ?? BATCH_LIMIT)) {
      // A rewind, a close or a lost partition: what is left of this fetch is not ours any more.
      if (this.#ending !== undefined || !payload.isRunning() || payload.isStale()) return;
      const answer = await this.#handle(slice);
      if (answer === undefined) return;
      const next = answer.kind === 'done' ? answer.next : answer.to;
      // A rewind is committed as well: the member that takes over must not begin behind it.
      await this.#commit({ payload, topic, partition, next });
      if (answer.kind === 'rewind' || next !== slice.next) {
        this.#seek(topic, partition, next);
        return; // at once: a seek takes effect at the next fetch only
      }
      payload.resolveOffset(String(next - 1));
      if (payload.isRunning()) await payload.heartbeat(); // throws when the group rebalances; kafkajs then joins again
    }
  }

  /** Returns the handler's answer, or nothing when it threw: what it was handed is then not recorded as done. */
  async #handle(
    slice: Parameters<SubscribeOptions['handle']>[0],
  ): Promise<Awaited<ReturnType<SubscribeOptions['handle']>> | undefined> {
    this.#handling++;
    try {
      return await this.#options.handle(slice, this.#abort.signal);
    } catch (error) {
      if (!isAbort(error, this.#abort.signal)) this.#end({ error });
      return undefined;
    } finally {
      this.#handling--;
      this.#sign();
    }
  }

  async #startAt(assigned: Readonly<Record<string, readonly number[]>>): Promise<void> {
    const { startAt } = this.#options;
    if (!startAt) return;
    const places = Object.entries(assigned).flatMap(([topic, partitions]) =>
      partitions.map((partition) => ({ topic, partition })),
    );
    await Promise.all(
      places.map(async ({ topic, partition }) => {
        const offset = await startAt(topic, partition);
        if (offset !== undefined) this.#seek(topic, partition, offset);
      }),
    );
  }

  #seek(topic: string, partition: number, offset: number): void {
    if (this.#ending === undefined) this.#consumer.seek({ topic, partition, offset: String(offset) });
  }

  /** Begins the end, once: no slice is handed over any more, the handler at work is asked to stop, and the group is left. */
  #end(failure?: { readonly error: unknown }): void {
    if (this.#ending !== undefined) {
      if (failure) this.#settle.reject(failure.error); // the handler threw while it was asked to stop
      return;
    }
    clearInterval(this.#watchdog);
    clearTimeout(this.#restart);
    this.#ending = this.#disconnect().then(() => (failure ? this.#settle.reject(failure.error) : this.#settle.resolve()));
    this.#abort.abort();
  }

  async #disconnect(): Promise<void> {
    // Waiting for a handler has no limit here: its caller gave it a signal. Waiting for a broker that is gone has one.
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => {
      const check = (): void => {
        if (this.#handling === 0) resolve();
        else timer = setTimeout(check, DISCONNECT_MS);
      };
      timer = setTimeout(check, DISCONNECT_MS);
    });
    await Promise.race([this.#consumer.disconnect().catch(() => undefined), limit]);
    clearTimeout(timer);
    if (this.#options.ephemeral) await this.#forgetGroup().catch(() => undefined); // the broker forgets it after some days too
  }

  async #forgetGroup(): Promise<void> {
    const admin = this.#kafka.admin({ retry: { retries: 2 } });
    try {
      await admin.connect();
      await admin.deleteGroups([this.#options.group]);
    } finally {
      await admin.disconnect();
    }
  }

  #sign(): void {
    this.#lastSign = Date.now();
  }

  #watch(): void {
    const silent = Date.now() - this.#lastSign;
    if (this.#handling > 0 || silent < this.#options.silenceMs) return;
    this.#end({
      error: new LogError('fatal', `the Kafka consumer of group ${this.#options.group} has been silent for ${silent} ms`),
    });
  }
}
