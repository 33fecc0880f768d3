import { setMaxListeners } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { gathering } from '../runtime/gathering.ts';
import { rest } from '../runtime/retry.ts';
import { Bell } from './embedded-log-bell.ts';
import {
  acquirePartitions,
  closeSession,
  fetchRecords,
  LeaseLost,
  MEMBERS_CHANNEL,
  type Move,
  openSession,
  RECORDS_CHANNEL,
  readGroupStatus,
  readPartitionEnds,
  releasePartitions,
  renewLease,
  type Session,
  writeCursors,
} from './embedded-log-session.ts';
import { type Shareable, shareOf } from './embedded-log-share.ts';
import type { LogTopic } from './embedded-log-topics.ts';
import type { Answer, LogBatch, StoredRecord, SubscribeOptions } from './event-log.ts';

const BATCH_LIMIT = 1_000; // as the Kafka adapter
const STATUS_MS = 500; // how soon the death of a member is noticed; who leaves in order says so
const RENEWALS = 5; // in the time of one lease: a busy machine may delay some
const POLL_MS = 1_000; // the safety net under notices: who appended may be killed before it sends one
const FETCHES_AT_ONCE = 8; // each of all partitions that have records and are not in flight: a slow handler holds up its own alone
const FETCHES_TOGETHER = 3; // who takes deliveries together has two at work, and each ring wakes all that wait to fetch
// Records with who takes them together, below which nothing more is fetched: half of the partitions would wait for the other
// half, turn by turn, where both are one slice.
const IN_FLIGHT = 1_000;

/** What a handler threw, as opposed to what the database threw. */
export class HandlerThrew extends Error {
  override readonly name = 'HandlerThrew';
}

interface Owned extends Shareable {
  readonly topic: string;
  readonly fence: number;
  next: number;
  /** There may be records at `next`. */
  pending: boolean;
  /** Belongs to another member by now; given back as soon as no handler works on it. */
  unwanted: boolean;
}

/**
 * One membership of a group, as long as its lease and its connection live: takes its share of the partitions, hands over their
 * records, one batch of a partition at a time, and records the answers. A process that was stopped for longer than its lease
 * hands over nothing more, and what it records late is refused by the fence of the partition.
 */
export class Member {
  readonly #session: Session;
  readonly #options: SubscribeOptions;
  readonly #partitions: readonly (Shareable & { topic: string })[];
  readonly #owned = new Map<number, Owned>();
  readonly #records = new Bell();
  readonly #members = new Bell();
  readonly #lost = new AbortController();
  readonly #failed = new AbortController();
  #renewed: number; // when the last renewal was asked for, by a clock that runs on while a process is stopped
  /** Partitions that are fetched or with the handler, with how many records. */
  readonly #inFlight = new Map<Owned, number>();
  readonly #record: (move: Move) => Promise<void>;

  private constructor(session: Session, joined: number, topics: readonly LogTopic[], options: SubscribeOptions) {
    this.#session = session;
    this.#options = options;
    this.#renewed = joined;
    this.#partitions = topics.flatMap(({ topic, topicId, partitionIds }) =>
      partitionIds.map((partitionId, partition) => ({ topic, topicId, partition, partitionId })),
    );
    this.#record = gathering((moves: readonly Move[]) => writeCursors(session, moves));
    session.client.on('end', () => this.#lost.abort(new Error('the connection to Postgres is lost')));
    session.client.on('notification', ({ channel, payload = '' }) => this.#noticed(channel, payload));
  }

  static async join(url: string, topics: readonly LogTopic[], options: SubscribeOptions, leaseMs: number): Promise<Member> {
    const joined = performance.now();
    return new Member(await openSession(url, options.group, topics, leaseMs), joined, topics, options);
  }

  /**
   * Works until `closing` aborts, and leaves the group. @throws HandlerThrew; what the database threw, a lost connection
   * included.
   */
  async serve(closing: AbortSignal): Promise<void> {
    const stop = AbortSignal.any([closing, this.#lost.signal, this.#failed.signal]);
    setMaxListeners(0, stop); // each loop listens to it
    const length = this.#options.together ? FETCHES_TOGETHER : FETCHES_AT_ONCE;
    const delivering = Array.from({ length }, () => this.#deliverAll(stop));
    const loops = [...delivering, this.#keepShare(stop), this.#keepLease(stop)];
    for (const loop of loops) loop.catch((error: unknown) => this.#failed.abort(error));
    const ends = await Promise.allSettled(loops);
    await closeSession(this.#session, this.#options.ephemeral ? 'forgotten' : 'kept');
    const failure = ends.find((end) => end.status === 'rejected');
    if (failure) throw failure.reason;
    if (!closing.aborted) this.#lost.signal.throwIfAborted();
  }

  #noticed(channel: string, payload: string): void {
    if (channel === MEMBERS_CHANNEL && payload === String(this.#session.groupId)) this.#members.ring();
    if (channel !== RECORDS_CHANNEL) return;
    const ids = payload === '' ? [...this.#owned.keys()] : payload.split(',').map(Number);
    for (const id of ids) {
      const owned = this.#owned.get(id);
      if (!owned) continue;
      owned.pending = true;
      this.#records.ring();
    }
  }

  async #deliverAll(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const owned = this.#takePending();
      if (owned.length > 0) await this.#deliver(owned, stop);
      else await this.#records.wait(POLL_MS, stop);
      await turn(); // what is appended, or ends, in the same moment is fetched together
    }
  }

  #takePending(): readonly Owned[] {
    if (this.#isBusy()) return [];
    const isNext = (owned: Owned) => owned.pending && !owned.unwanted && !this.#inFlight.has(owned);
    const taken = [...this.#owned.values()].filter(isNext);
    for (const owned of taken) {
      owned.pending = false; // before the fetch: what is appended behind its back sets it again
      this.#inFlight.set(owned, 0);
    }
    return taken;
  }

  #isBusy(): boolean {
    if (!this.#options.together || this.#inFlight.size === 0) return false;
    return [...this.#inFlight.values()].reduce((sum, records) => sum + records, 0) < IN_FLIGHT;
  }

  async #deliver(taken: readonly Owned[], stop: AbortSignal): Promise<void> {
    const left = new Set(taken);
    const release = (owned: Owned): void => {
      left.delete(owned);
      this.#inFlight.delete(owned);
      if (owned.unwanted) this.#members.ring();
      if (owned.pending || this.#options.together) this.#records.ring(); // others may have waited for it
    };
    try {
      const fetched = await fetchRecords(this.#session, taken, this.#options.batchLimit ?? BATCH_LIMIT);
      if (stop.aborted) return;
      for (const owned of taken) this.#inFlight.set(owned, fetched.get(owned.partitionId)?.length ?? 0);
      if (fetched.size > 0 && performance.now() - this.#renewed > this.#session.leaseMs) throw new LeaseLost('delivering');
      const ends = await Promise.allSettled(
        taken.map(async (owned) => {
          try {
            await this.#handOver(owned, fetched.get(owned.partitionId) ?? [], stop);
          } catch (error) {
            this.#failed.abort(error); // at once: the other handlers are asked to stop, and are waited for
            throw error;
          } finally {
            release(owned);
          }
        }),
      );
      const failure = ends.find((end) => end.status === 'rejected');
      if (failure) throw failure.reason;
    } finally {
      for (const owned of left) release(owned);
    }
  }

  async #handOver(owned: Owned, records: readonly StoredRecord[], stop: AbortSignal): Promise<void> {
    const last = records.at(-1);
    if (last === undefined) return;
    owned.pending = true; // perhaps more; the next fetch says
    const { topic, partition, partitionId, fence, next: from } = owned;
    const batch: LogBatch = { topic, partition, from, next: last.offset + 1, records };
    const answer = await this.#handle(batch, stop);
    if (answer === undefined) return;
    const next = nextOf(answer, batch);
    await this.#record({ partitionId, next, fence });
    owned.next = next;
  }

  /** Returns the handler's answer, or nothing when it gave up because it was asked to stop. */
  async #handle(batch: LogBatch, stop: AbortSignal): Promise<Answer | undefined> {
    try {
      return await this.#options.handle(batch, stop);
    } catch (error) {
      const { name } = (error ?? {}) as { name?: unknown }; // an AbortError may be of another realm
      if (stop.aborted && (error === stop.reason || name === 'AbortError')) return undefined;
      throw new HandlerThrew('the handler threw', { cause: error });
    }
  }

  async #keepShare(stop: AbortSignal): Promise<void> {
    let polled = performance.now();
    while (!stop.aborted) {
      await this.#share();
      if (performance.now() - polled > POLL_MS) {
        await this.#poll();
        polled = performance.now();
      }
      await this.#members.wait(STATUS_MS, stop);
    }
  }

  /** Renews apart from the sharing, which may wait for `startAt`. */
  async #keepLease(stop: AbortSignal): Promise<void> {
    for (;;) {
      await rest(this.#session.leaseMs / RENEWALS, stop);
      if (stop.aborted) return;
      const asked = performance.now();
      await renewLease(this.#session);
      this.#renewed = asked;
    }
  }

  /** Returns what belongs to others, takes what belongs to us and is free. Members that disagree for a moment look again. */
  async #share(): Promise<void> {
    const { members, owned: taken } = await readGroupStatus(this.#session);
    const share = shareOf(this.#session.memberId, this.#partitions, members);
    for (const owned of this.#owned.values()) {
      if (owned.unwanted && share.has(owned.partitionId)) this.#records.ring(); // it is wanted again, and may have records
      owned.unwanted = !share.has(owned.partitionId);
    }
    const back = [...this.#owned.values()].filter((owned) => owned.unwanted && !this.#inFlight.has(owned));
    for (const { partitionId } of back) this.#owned.delete(partitionId);
    if (back.length > 0)
      await releasePartitions(
        this.#session,
        back.map(({ partitionId }) => partitionId),
      );
    const free = this.#partitions.filter(({ partitionId }) => share.has(partitionId) && !taken.has(partitionId));
    if (free.length === 0) return;
    const leases = await acquirePartitions(
      this.#session,
      free.map(({ partitionId }) => partitionId),
    );
    for (const partition of free) {
      const lease = leases.get(partition.partitionId);
      if (lease === undefined) continue;
      const next = (await this.#options.startAt?.(partition.topic, partition.partition)) ?? lease.next;
      this.#owned.set(partition.partitionId, { ...partition, fence: lease.fence, next, pending: true, unwanted: false });
    }
    this.#records.ring();
  }

  async #poll(): Promise<void> {
    const ends = await readPartitionEnds(this.#session, [...this.#owned.keys()]);
    for (const owned of this.#owned.values()) {
      if ((ends.get(owned.partitionId) ?? 0) <= owned.next) continue;
      owned.pending = true;
      this.#records.ring();
    }
  }
}

function nextOf(answer: Answer, { next }: LogBatch): number {
  const to = answer.kind === 'done' ? answer.next : answer.to;
  if (Number.isSafeInteger(to) && to >= 0 && to <= next) return to;
  throw new HandlerThrew('the handler gave a wrong answer', {
    cause: new RangeError(`the answer ${answer.kind} ${to} lies outside of the batch, which ends before ${next}`),
  });
}
