import { Bell } from './embedded-log-bell.ts';
import {
  acquirePartitions,
  closeSession,
  fetchRecords,
  MEMBERS_CHANNEL,
  openSession,
  RECORDS_CHANNEL,
  readGroupStatus,
  readPartitionEnds,
  releasePartitions,
  type Session,
  writeCursor,
} from './embedded-log-session.ts';
import { type Shareable, shareOf } from './embedded-log-share.ts';
import type { LogTopic } from './embedded-log-topics.ts';
import type { Answer, LogBatch, SubscribeOptions } from './event-log.ts';

const BATCH_LIMIT = 1_000; // as the Kafka adapter
const STATUS_MS = 500; // how soon the death of a member is noticed; who leaves in order says so
const POLL_MS = 5_000; // the safety net under LISTEN/NOTIFY

/** What a handler threw, as opposed to what the database threw. */
export class HandlerThrew extends Error {
  override readonly name = 'HandlerThrew';
}

interface Owned extends Shareable {
  readonly topic: string;
  next: number;
  /** There may be records at `next`. */
  pending: boolean;
  /** Belongs to another member by now; given back as soon as no handler works on it. */
  unwanted: boolean;
}

/**
 * One membership of a group, as long as its connection lives: takes its share of the partitions, hands over their records one
 * batch at a time, in turn, and records the answers.
 */
export class Member {
  readonly #session: Session;
  readonly #options: SubscribeOptions;
  readonly #partitions: readonly (Shareable & { topic: string })[];
  readonly #owned = new Map<number, Owned>();
  readonly #records = new Bell();
  readonly #members = new Bell();
  readonly #lost = new AbortController();
  #inFlight: Owned | undefined;

  private constructor(session: Session, topics: readonly LogTopic[], options: SubscribeOptions) {
    this.#session = session;
    this.#options = options;
    this.#partitions = topics.flatMap(({ topic, topicId, partitionIds }) =>
      partitionIds.map((partitionId, partition) => ({ topic, topicId, partition, partitionId })),
    );
    session.client.on('end', () => this.#lost.abort(new Error('the connection to Postgres is lost')));
    session.client.on('notification', ({ channel, payload = '' }) => this.#noticed(channel, payload));
  }

  static async join(url: string, topics: readonly LogTopic[], options: SubscribeOptions): Promise<Member> {
    return new Member(await openSession(url, options.group, topics), topics, options);
  }

  /**
   * Works until `closing` aborts, and leaves the group. @throws HandlerThrew; what the database threw, a lost connection
   * included.
   */
  async serve(closing: AbortSignal): Promise<void> {
    const failed = new AbortController();
    const stop = AbortSignal.any([closing, this.#lost.signal, failed.signal]);
    const loops = [this.#deliverAll(stop), this.#keepShare(stop)];
    for (const loop of loops) loop.catch((error: unknown) => failed.abort(error));
    const ends = await Promise.allSettled(loops);
    await closeSession(this.#session);
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
      const owned = this.#nextPending();
      if (owned) await this.#deliver(owned, stop);
      else await this.#records.wait(POLL_MS, stop);
    }
  }

  /** Takes partitions in turn: the one served goes to the end of the map. */
  #nextPending(): Owned | undefined {
    const owned = [...this.#owned.values()].find((candidate) => candidate.pending && !candidate.unwanted);
    if (owned) {
      this.#owned.delete(owned.partitionId);
      this.#owned.set(owned.partitionId, owned);
    }
    return owned;
  }

  async #deliver(owned: Owned, stop: AbortSignal): Promise<void> {
    owned.pending = false; // before the fetch: what is appended behind its back sets it again
    this.#inFlight = owned;
    try {
      const records = await fetchRecords(this.#session, owned.partitionId, owned.next, this.#options.batchLimit ?? BATCH_LIMIT);
      const last = records.at(-1);
      if (last === undefined || stop.aborted) return;
      owned.pending = true; // perhaps more; the next fetch says
      const { topic, partition, next: from } = owned;
      const batch: LogBatch = { topic, partition, from, next: last.offset + 1, records };
      const answer = await this.#handle(batch, stop);
      if (answer === undefined) return;
      const next = nextOf(answer, batch);
      await writeCursor(this.#session, owned.partitionId, next);
      owned.next = next;
    } finally {
      this.#inFlight = undefined;
      if (owned.unwanted) this.#members.ring();
    }
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
    let polled = Date.now();
    while (!stop.aborted) {
      await this.#share();
      if (Date.now() - polled > POLL_MS) {
        await this.#poll();
        polled = Date.now();
      }
      await this.#members.wait(STATUS_MS, stop);
    }
  }

  /** Returns what belongs to others, takes what belongs to us and is free. Members that disagree for a moment look again. */
  async #share(): Promise<void> {
    const { members, owned: taken } = await readGroupStatus(this.#session);
    const share = shareOf(this.#session.pid, this.#partitions, members);
    for (const owned of this.#owned.values()) owned.unwanted = !share.has(owned.partitionId);
    const back = [...this.#owned.values()].filter((owned) => owned.unwanted && owned !== this.#inFlight);
    for (const { partitionId } of back) this.#owned.delete(partitionId);
    if (back.length > 0)
      await releasePartitions(
        this.#session,
        back.map(({ partitionId }) => partitionId),
      );
    const free = this.#partitions.filter(({ partitionId }) => share.has(partitionId) && !taken.has(partitionId));
    if (free.length === 0) return;
    const cursors = await acquirePartitions(
      this.#session,
      free.map(({ partitionId }) => partitionId),
    );
    for (const partition of free) {
      const remembered = cursors.get(partition.partitionId);
      if (remembered === undefined) continue;
      const next = (await this.#options.startAt?.(partition.topic, partition.partition)) ?? remembered;
      this.#owned.set(partition.partitionId, { ...partition, next, pending: true, unwanted: false });
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
