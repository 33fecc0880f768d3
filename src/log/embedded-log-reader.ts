import { setMaxListeners } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { gathering } from '../runtime/gathering.ts';
import { isAbort } from '../runtime/is-abort.ts';
import { doubling, rest, retry } from '../runtime/retry.ts';
import { logFault } from './embedded-log-fault.ts';
import {
  acquirePartitions,
  closeSession,
  fetchRecords,
  GROUP,
  groupPayload,
  openSession,
  type Run,
  readGroupStatus,
  readPartitionEnds,
  releasePartitions,
  type Session,
  takeTraces,
  writeCursors,
} from './embedded-log-session.ts';
import type { LogTopic } from './embedded-log-topics.ts';
import type { BatchAnswer, LogBatch, StoredRecord, SubscribeOptions, Subscription } from './event-log.ts';

const BATCH_LIMIT = 1_000; // as the Kafka adapter
// How soon the death of a member, or an append whose notice was lost, is seen; members that leave and appends notify.
const LOOK_MS = 500;
const SIGNS = 5; // of life, in the time of one lease: a busy machine may delay some
// Records with a reader that takes them together, below which nothing more is fetched: half of the partitions would wait for the
// other half, turn by turn, where both are one slice.
const IN_FLIGHT = 1_000;
const pauseOf = doubling(50, 2_000);
const STABLE_MS = 5_000; // a connection that lived this long counts as healed

/**
 * Joins a group and hands over its records until closed. A lost connection is made again, with growing pauses, for as long as it
 * takes; on a fault that no new connection heals `finished` rejects with a LogError.
 */
export async function subscribeEmbedded(
  url: string,
  topics: readonly LogTopic[],
  options: SubscribeOptions,
  leaseMs: number,
): Promise<Subscription> {
  const closing = new AbortController();
  const first = await join();
  const finished = run(first);
  const ended = finished.catch(() => undefined);
  return {
    finished,
    async close() {
      closing.abort();
      await ended;
    },
  };

  async function join(): Promise<Member> {
    const session = await openSession(url, options.group, topics, leaseMs).catch((error: unknown) => {
      throw logFault(`joining the group ${options.group}`, error);
    });
    return new Member(session, topics, options);
  }

  async function run(start: Member): Promise<void> {
    let member = start;
    let short = 0; // memberships in a row that ended at once
    // A member that joined serves in any case: that it is to end shows there, and there it leaves.
    for (;;) {
      const joined = Date.now();
      try {
        await member.serve(closing.signal, leaseMs);
      } catch (error) {
        if (error instanceof HandlerThrew) throw error.cause;
        const fault = logFault(`reading the log as group ${options.group}`, error);
        if (!fault.retryable) throw fault;
        if (!closing.signal.aborted) options.onWaiting?.(fault.message);
      }
      if (closing.signal.aborted) return;
      short = Date.now() - joined < STABLE_MS ? short + 1 : 1;
      const next = await rejoin(short);
      if (!next) return;
      member = next;
    }
  }

  async function rejoin(short: number): Promise<Member | undefined> {
    const { signal } = closing;
    await rest(pauseOf(short), signal);
    return retry(async () => (signal.aborted ? undefined : join()), {
      signal,
      sleep: rest,
      pauseMs: (tries) => pauseOf(short + tries),
      again: ({ error }) => {
        const fault = logFault(`joining the group ${options.group} again`, error);
        if (!fault.retryable) throw fault;
        options.onWaiting?.(fault.message);
        return true;
      },
    });
  }
}

/** What a handler threw, as opposed to what the database threw. */
class HandlerThrew extends Error {
  override readonly name = 'HandlerThrew';
}

interface Partition {
  readonly topic: string;
  readonly topicId: number;
  readonly partition: number;
  readonly partitionId: number;
}

interface Owned extends Partition {
  next: number;
  /** There may be records at `next`. */
  pending: boolean;
  /** Belongs to another member by now; given back as soon as no handler works on it. */
  unwanted: boolean;
}

/**
 * One membership of a group, as long as its connection lives: reads its share of the partitions, hands over their records, one
 * batch of a partition at a time, and records the answers.
 */
class Member {
  readonly #session: Session;
  readonly #options: SubscribeOptions;
  readonly #partitions: readonly Partition[];
  readonly #owned = new Map<number, Owned>();
  /** Partitions that are fetched or with the handler, with how many records. */
  readonly #inFlight = new Map<Owned, number>();
  readonly #over = new AbortController();
  #stop: AbortSignal = this.#over.signal;
  readonly #work = new Set<Promise<void>>();
  readonly #record: (move: Run) => Promise<void>;
  #isFetchDue = false;
  #isLookDue = false;
  #isLooking = false;

  constructor(session: Session, topics: readonly LogTopic[], options: SubscribeOptions) {
    this.#session = session;
    this.#options = options;
    this.#partitions = topics.flatMap(({ topic, topicId, partitionIds }) =>
      partitionIds.map((partitionId, partition) => ({ topic, topicId, partition, partitionId })),
    );
    this.#record = gathering((moves: readonly Run[]) => writeCursors(session, moves));
    session.client.on('end', () => this.#over.abort(new Error('the connection to Postgres is lost')));
    session.client.on('notification', ({ payload = '' }) => this.#noticed(payload));
  }

  /**
   * Works until `closing` aborts, and leaves the group. @throws HandlerThrew; what the database threw, a lost connection
   * included.
   */
  async serve(closing: AbortSignal, leaseMs: number): Promise<void> {
    this.#stop = AbortSignal.any([closing, this.#over.signal]);
    setMaxListeners(0, this.#stop); // every handler may listen to it
    const look = setInterval(() => this.#look(), Math.min(LOOK_MS, leaseMs / SIGNS));
    // Apart from the looks, which may wait for `startAt`.
    const signs = setInterval(() => this.#run(this.#session.query('select').then(() => undefined)), leaseMs / SIGNS);
    this.#look();
    if (!this.#stop.aborted) await new Promise((resolve) => this.#stop.addEventListener('abort', resolve, { once: true }));
    clearInterval(look);
    clearInterval(signs);
    while (this.#work.size > 0) await Promise.allSettled(this.#work);
    const { aborted, reason } = this.#over.signal; // before the connection is closed, which aborts it too
    await closeSession(this.#session, this.#options.ephemeral ? 'forgotten' : 'kept');
    if (aborted) throw reason;
  }

  /** Follows work to its end; the first that fails ends the membership. */
  #run(work: Promise<void>): void {
    const ended = work.catch((error: unknown) => this.#over.abort(error)).finally(() => this.#work.delete(ended));
    this.#work.add(ended);
  }

  #noticed(payload: string): void {
    if (payload.startsWith(GROUP)) {
      if (payload === groupPayload(this.#session.groupId)) this.#look();
      return;
    }
    const ids = payload === '' ? [...this.#owned.keys()] : payload.split(',').map(Number);
    for (const id of ids) {
      const owned = this.#owned.get(id);
      if (owned) owned.pending = true;
    }
    this.#fetch();
  }

  /** Fetches in the next turn: what is appended, or ends, in the same moment is fetched together. */
  #fetch(): void {
    if (this.#isFetchDue || this.#stop.aborted) return;
    this.#isFetchDue = true;
    const fetching = turn().then(() => {
      this.#isFetchDue = false;
      const taken = this.#takePending();
      return taken.length > 0 ? this.#deliver(taken) : undefined;
    });
    this.#run(fetching);
  }

  #takePending(): readonly Owned[] {
    if (this.#stop.aborted || this.#isBusy()) return [];
    const isNext = (owned: Owned) => owned.pending && !owned.unwanted && !this.#inFlight.has(owned);
    const taken = [...this.#owned.values()].filter(isNext);
    for (const owned of taken) {
      owned.pending = false; // before the fetch: what is appended meanwhile sets it again
      this.#inFlight.set(owned, 0);
    }
    return taken;
  }

  #isBusy(): boolean {
    if (!this.#options.together || this.#inFlight.size === 0) return false;
    return [...this.#inFlight.values()].reduce((sum, records) => sum + records, 0) < IN_FLIGHT;
  }

  async #deliver(taken: readonly Owned[]): Promise<void> {
    const fetched = await fetchRecords(this.#session, taken, this.#options.batchLimit ?? BATCH_LIMIT);
    const traces = this.#options.traced ? await takeTraces(this.#session, extentsOf(taken, fetched)) : NO_TRACES;
    if (this.#stop.aborted) return;
    for (const owned of taken) this.#inFlight.set(owned, fetched.get(owned.partitionId)?.length ?? 0);
    for (const owned of taken)
      this.#run(this.#handOver(owned, fetched.get(owned.partitionId) ?? [], traces.get(owned.partitionId) ?? []));
  }

  async #handOver(owned: Owned, records: readonly StoredRecord[], traceparents: readonly string[]): Promise<void> {
    const last = records.at(-1);
    if (last) {
      owned.pending = true; // perhaps more; the next fetch shows
      const { topic, partition, partitionId, next: from } = owned;
      const read = { topic, partition, from, next: last.offset + 1, records };
      const batch: LogBatch = traceparents.length > 0 ? { ...read, traceparents } : read;
      const answer = await this.#handle(batch);
      if (answer === undefined) return;
      const next = nextOf(answer, batch);
      await this.#record({ partitionId, next });
      owned.next = next;
    }
    this.#inFlight.delete(owned);
    if (owned.unwanted) this.#look();
    this.#fetch();
  }

  /** Returns the handler's answer, or nothing when it gave up because it was asked to stop. */
  async #handle(batch: LogBatch): Promise<BatchAnswer | undefined> {
    try {
      return await this.#options.handle(batch, this.#stop);
    } catch (error) {
      if (isAbort(error, this.#stop)) return undefined;
      throw new HandlerThrew('the handler threw', { cause: error });
    }
  }

  /** Takes its share and looks for records, one look at a time; one that is asked for during another follows it. */
  #look(): void {
    this.#isLookDue = true;
    if (this.#isLooking) return;
    this.#isLooking = true;
    const looking = async () => {
      while (this.#isLookDue && !this.#stop.aborted) {
        this.#isLookDue = false;
        await this.#share();
        await this.#findRecords();
      }
      this.#isLooking = false;
    };
    this.#run(looking());
  }

  /** Returns what belongs to others, takes what belongs to this member and is free. Members that disagree look again. */
  async #share(): Promise<void> {
    const { members, owned: taken } = await readGroupStatus(this.#session);
    const isMine = ({ topicId, partition }: Partition): boolean => {
      const sharing = members.get(topicId) ?? [];
      return sharing[(topicId + partition) % sharing.length] === this.#session.pid; // topics of one partition begin at different members
    };
    for (const owned of this.#owned.values()) owned.unwanted = !isMine(owned);
    const back = [...this.#owned.values()].filter((owned) => owned.unwanted && !this.#inFlight.has(owned));
    for (const { partitionId } of back) this.#owned.delete(partitionId);
    if (back.length > 0) await releasePartitions(this.#session, idsOf(back));
    const free = this.#partitions.filter((one) => isMine(one) && !taken.has(one.partitionId));
    if (free.length === 0) return;
    const cursors = await acquirePartitions(this.#session, idsOf(free));
    const take = async (partition: Partition): Promise<void> => {
      const cursor = cursors.get(partition.partitionId);
      if (cursor === undefined) return;
      const next = (await this.#options.startAt?.(partition.topic, partition.partition)) ?? cursor;
      this.#owned.set(partition.partitionId, { ...partition, next, pending: true, unwanted: false });
    };
    await Promise.all(free.map(take));
  }

  async #findRecords(): Promise<void> {
    const ends = await readPartitionEnds(this.#session, [...this.#owned.keys()]);
    for (const owned of this.#owned.values()) if ((ends.get(owned.partitionId) ?? 0) > owned.next) owned.pending = true;
    this.#fetch();
  }
}

const NO_TRACES: ReadonlyMap<number, readonly string[]> = new Map();

function extentsOf(taken: readonly Owned[], fetched: ReadonlyMap<number, readonly StoredRecord[]>): readonly Run[] {
  return taken.flatMap(({ partitionId }) => {
    const last = fetched.get(partitionId)?.at(-1);
    return last ? [{ partitionId, next: last.offset + 1 }] : [];
  });
}

function idsOf(partitions: readonly Partition[]): readonly number[] {
  return partitions.map(({ partitionId }) => partitionId);
}

function nextOf(answer: BatchAnswer, { next }: LogBatch): number {
  const to = answer.kind === 'done' ? answer.next : answer.to;
  if (Number.isSafeInteger(to) && to >= 0 && to <= next) return to;
  throw new HandlerThrew('the handler gave a wrong answer', {
    cause: new RangeError(`the answer ${answer.kind} ${to} is outside of the batch, which ends before ${next}`),
  });
}
