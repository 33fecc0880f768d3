import { decode } from '../../events/codec.ts';
import type { Delivery } from '../../events/envelope.ts';
import { withRequeue } from '../../events/with-requeue.ts';
import { type EventLog, type LogRecord, RECORD_LIMIT, type Receipt } from '../../log/event-log.ts';
import { positionAfter } from '../../log/position.ts';
import type { Database, Db } from '../../postgres/database.ts';
import { may, type Principal } from '../../postgres/principal.ts';
import { unsealerOf } from '../../postgres/stream-keys.ts';
import { describePlace, type LogPlace } from '../../projections/place.ts';
import { previewFold } from '../../projections/preview-fold.ts';
import type { Projection } from '../../projections/projection.ts';
import { findWaiting, readRefusalsAt, readWaitingPlaces, type WaitingPlace } from '../../projections/read-waiting.ts';
import { projections as registered } from '../../projections/registry.ts';
import { visibleTo } from '../../projections/visible-to.ts';
import { ProjectionsBehind, waitUntilProjected } from '../../projections/wait-until.ts';
import { createExclusive } from '../../runtime/exclusive.ts';

/** What became of a requeued record in one projection that had it in quarantine. */
export interface RequeueOutcome {
  readonly projection: string;
  /** Where the record waits. */
  readonly place: LogPlace;
  /**
   * The record by which it was requeued; null where it would be refused again: then nothing was appended, and it waits as before.
   */
  readonly appended: LogPlace | null;
  readonly result:
    | { readonly kind: 'requeued' }
    | { readonly kind: 'refused'; readonly reason: string }
    /** It is appended again; the projection has not reached it within the time. */
    | { readonly kind: 'pending'; readonly reason: string };
}

export interface RequeueOptions {
  /** The place of one record; null for all that waits. */
  readonly place: LogPlace | null;
  /** Why it is requeued, for the record. */
  readonly reason: string | null;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** How long the projections are waited for. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

const AT_ONCE = 500; // places of one partition: what hangs on one of them is asked of together with it

/**
 * Requeues what waits in quarantine, in log order: after its parent arrived, or after an upgrade that can read it. The event is
 * appended to its partition again with the place where it waited, so that every fold of the log meets it at the same place; a fold
 * that had it before recognises its id. A record that every projection would refuse again is not appended. Waits until the
 * projections have passed the appended records.
 */
export async function requeueEvents(
  parts: { readonly log: EventLog; readonly database: Database },
  options: RequeueOptions,
): Promise<readonly RequeueOutcome[]> {
  const outcomes: RequeueOutcome[] = [];
  let after: LogPlace = options.place
    ? { ...options.place, offset: options.place.offset - 1 }
    : { topic: '', partition: -1, offset: -1 };
  for (;;) {
    options.signal.throwIfAborted();
    const waiting = await nextWaiting(parts.database.db, after, options.place);
    const last = waiting.at(-1);
    if (last === undefined) return outcomes;
    for (const each of await requeueTogether(parts, waiting, options)) outcomes.push(each);
    after = last;
    if (options.place) return outcomes;
  }
}

/** Reads the next places at which something waits for a live projection: those of the first partition that has any. */
async function nextWaiting(db: Db, after: LogPlace, only: LogPlace | null): Promise<readonly WaitingPlace[]> {
  const rows = await readWaitingPlaces(db, after, AT_ONCE);
  const [first] = rows;
  if (only) return rows.filter((row) => describePlace(row) === describePlace(only));
  return rows.filter((row) => row.topic === first?.topic && row.partition === first.partition);
}

async function requeueTogether(
  { log, database: { db } }: { readonly log: EventLog; readonly database: Database },
  waiting: readonly WaitingPlace[],
  { reason, clock, timeoutMs, signal }: RequeueOptions,
): Promise<readonly RequeueOutcome[]> {
  const refusals = await refusedAgain(db, waiting);
  const refusalOf = (row: WaitingPlace, projection: string) => refusals.get(`${projection} ${describePlace(row)}`);
  const going = waiting.filter((row) => row.projections.some((projection) => refusalOf(row, projection) === undefined));
  const at = new Date(clock()).toISOString();
  const receipts = await log.append(going.map((row) => recordOf(row, at, reason)));
  const appended = new Map(going.map((row, i) => [describePlace(row), receipts[i] as Receipt])); // one receipt per record
  const pending = receipts.length > 0 ? await pendingReason(db, going, receipts, { timeoutMs, signal }) : null;
  const refusedThere = pending === null ? await readRefusalsAt(db, receipts) : new Map<string, string>();
  return waiting.flatMap((row) =>
    row.projections.map((projection): RequeueOutcome => {
      const { topic, partition, offset } = row;
      const receipt = appended.get(describePlace(row)) ?? null;
      const requeued = { projection, place: { topic, partition, offset }, appended: receipt };
      const refused = receipt
        ? refusedThere.get(`${projection} ${describePlace(receipt)}`)
        : (refusalOf(row, projection) ?? 'is not offered');
      if (refused !== undefined) return { ...requeued, result: { kind: 'refused', reason: refused } };
      return { ...requeued, result: pending === null ? { kind: 'requeued' } : { kind: 'pending', reason: pending } };
    }),
  );
}

/** Asks each projection of what waits for it: `projection place` → why it would be refused again. */
async function refusedAgain(db: Db, waiting: readonly WaitingPlace[]): Promise<ReadonlyMap<string, string>> {
  const refusals = new Map<string, string>();
  const deliveries = new Map<WaitingPlace, Delivery>();
  const refuse = (row: WaitingPlace, projection: string, reason: string) =>
    refusals.set(`${projection} ${describePlace(row)}`, reason);
  const unseal = await unsealerOf(
    db,
    waiting.map(({ body }) => body),
  );
  for (const row of waiting) {
    const decoded = decode(row.body, unseal);
    const tooLarge = row.body.length + 4_096 > RECORD_LIMIT; // what a requeue adds: a place, a time and a reason
    if (decoded.kind === 'event' && !tooLarge) {
      const { topic, partition, offset } = row;
      const place = { topic, partition, offset, receivedAt: null }; // a trial: the requeue itself is dated by the log
      deliveries.set(row, { ...place, event: decoded.event, body: row.body.toString('utf8') });
    } else {
      const reason =
        decoded.kind === 'refused'
          ? `${decoded.refusal.path} ${decoded.refusal.message}`.trim()
          : 'is too large to be appended again';
      for (const projection of row.projections) refuse(row, projection, reason);
    }
  }
  const [first] = waiting;
  if (!first) return refusals;
  for (const name of new Set(waiting.flatMap(({ projections }) => projections))) {
    const mine = waiting.filter((row) => row.projections.includes(name) && deliveries.has(row));
    const offered = mine.map((row) => deliveries.get(row) as Delivery); // as just filtered
    const projection = registered.find((candidate) => candidate.name === name);
    const said = projection ? await previewFold(db, projection, first, offered) : null;
    for (const [i, row] of mine.entries()) {
      const reason = said ? said.get(offered[i] as Delivery) : `this program has no projection ${name}`;
      if (reason !== undefined) refuse(row, name, reason);
    }
  }
  return refusals;
}

function recordOf({ topic, partition, offset, body }: WaitingPlace, at: string, reason: string | null): LogRecord {
  const decoded = decode(body);
  const key = decoded.kind === 'event' ? decoded.event.stream : ''; // what does not decode is refused before
  return { topic, partition, key, value: Buffer.from(withRequeue(body.toString('utf8'), { offset, at, reason }), 'utf8') };
}

/** Waits until all who hold something have passed the requeues; returns why not, when they have not in time. */
async function pendingReason(
  db: Db,
  going: readonly WaitingPlace[],
  receipts: readonly Receipt[],
  waiting: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<string | null> {
  const names = new Set(going.flatMap(({ projections }) => projections));
  const concerned: readonly Projection[] = registered.filter(({ name }) => names.has(name));
  try {
    await waitUntilProjected(db, positionAfter(receipts), { ...waiting, projections: concerned });
    return null;
  } catch (error) {
    if (error instanceof ProjectionsBehind) return error.message;
    throw error;
  }
}

interface RequeueRequest {
  readonly places: readonly LogPlace[];
  /** Why they are requeued, for the record; empty without a reason. */
  readonly reason: string;
}

export type RequeueReply =
  | { readonly kind: 'done'; readonly outcomes: readonly RequeueOutcome[] }
  | { readonly kind: 'refused'; readonly code: 'forbidden' | 'unknown' | 'invalid'; readonly message: string };

/** Requeues what waits at some places, on behalf of a principal; nothing if one of them is refused. */
export type Requeue = (request: RequeueRequest, principal: Principal) => Promise<RequeueReply>;

/** Places of one call. */
export const REQUEUE_LIMIT = 50;
const REASON_LIMIT = 2_000; // characters
const FOLDED_MS = 10_000; // for all places of a call together; what is not folded then is on record and reported as pending

/**
 * Opens the requeuing of quarantined records to clients of the API. It requires the scope `admin`, as it changes what every reader
 * sees; a key of some projects requeues only their records. Calls run one after another, so that nothing is requeued twice.
 */
export function openRequeue(parts: { readonly log: EventLog; readonly database: Database }): Requeue {
  const exclusive = createExclusive();

  async function requeue({ places, reason }: RequeueRequest, principal: Principal): Promise<RequeueReply> {
    const waiting = new Set((await findWaiting(visibleTo(parts.database.db, principal), places)).map(describePlace));
    const unknown = places.find((place) => !waiting.has(describePlace(place)));
    if (unknown) return refused('unknown', `nothing waits in quarantine at ${describePlace(unknown)}; nothing was requeued`);
    const until = Date.now() + FOLDED_MS;
    const outcomes: RequeueOutcome[] = [];
    for (const place of places) {
      const timeoutMs = Math.max(100, until - Date.now());
      const signal = new AbortController().signal;
      const options = { place, reason: reason === '' ? null : reason, clock: Date.now, timeoutMs, signal };
      for (const each of await requeueEvents(parts, options)) outcomes.push(each);
    }
    return { kind: 'done', outcomes };
  }

  return async (request, principal) => {
    if (!may(principal, 'admin'))
      return refused(
        'forbidden',
        `the key ${JSON.stringify(principal.name)} has the scopes ${principal.scopes.join(', ') || 'none'}; requeuing from quarantine needs admin: make a key with \`espalier keys create --name NAME --scopes admin\``,
      );
    const { places, reason } = request;
    if (places.length < 1 || places.length > REQUEUE_LIMIT)
      return refused('invalid', `a call requeues 1 to ${REQUEUE_LIMIT} places, not ${places.length}; send them in several calls`);
    if (new Set(places.map(describePlace)).size < places.length)
      return refused('invalid', 'a place is named twice; name each once');
    if (reason.length > REASON_LIMIT || !reason.isWellFormed() || reason.includes('\0'))
      return refused('invalid', `a reason has at most ${REASON_LIMIT} characters, well-formed and without NUL`);
    return exclusive.run(['requeue'], () => requeue(request, principal));
  };
}

function refused(code: Extract<RequeueReply, { kind: 'refused' }>['code'], message: string): RequeueReply {
  return { kind: 'refused', code, message };
}
