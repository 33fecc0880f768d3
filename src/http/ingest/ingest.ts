import { z } from 'zod';
import { EventRefused, prepareParsed } from '../../append/prepare-events.ts';
import type { BlobStore } from '../../blobs/blob-store.ts';
import { catalogue, type EventType } from '../../events/catalogue.ts';
import { clearHash, contentHash } from '../../events/codec.ts';
import type { Envelope } from '../../events/envelope.ts';
import { type EventLog, LogError, type LogRecord, RECORD_LIMIT, type Receipt, RecordTooLarge } from '../../log/event-log.ts';
import { formatPosition, positionAfter } from '../../log/position.ts';
import type { Db } from '../../postgres/database.ts';
import type { Principal } from '../../postgres/principal.ts';
import { annotations } from '../../projections/annotations/annotations.ts';
import { journal } from '../../projections/journal/journal.ts';
import { findJournalEntries, type JournalEntry, uniqueKeysOf } from '../../projections/journal/journal-entries.ts';
import { owners as ownersProjection } from '../../projections/owners/owners.ts';
import { openCache } from '../../runtime/cache.ts';
import type { RequestLimits } from '../../runtime/config.ts';
import { createExclusive } from '../../runtime/exclusive.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { caughtUp } from '../caught-up.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { refusals } from '../openapi.ts';
import { busy, createBodyBudget } from '../receive-bodies.ts';
import { json, type Reply, refusal, refuse } from '../reply.ts';
import { underivableIds } from './check-derived-ids.ts';
import { checkEvents, dropRepetitions, type SentEvent } from './check-events.ts';
import { checkNamed } from './check-named.ts';
import { checkOwners, type KnownOwner, type OwnersWorld } from './check-owners.ts';
import { eventSchemas } from './event-schemas.ts';
import { createGate } from './gate.ts';
import { mediaOf, parseBody, unknownMedia } from './parse-body.ts';
import { conflictOf, refuseEvents, refuseUndecided } from './refuse-events.ts';
import { staleEpochs } from './stale-epochs.ts';
import { checkStreamTopics } from './stream-topics.ts';

export interface IngestOptions {
  readonly db: Db;
  readonly log: EventLog;
  readonly blobs: BlobStore;
  readonly limits: Pick<RequestLimits, 'bodyBytes' | 'eventsPerRequest' | 'ingestRequests' | 'ingestBytes'>;
  readonly metrics: Metrics;
  /** How long to wait for who owns a stream that was opened a moment ago. */
  readonly catchUpMs?: number;
  /** Milliseconds since 1970. */
  readonly clock?: () => number;
}

const NONE: ReadonlySet<Prepared> = new Set();
const RECENT = 50_000; // entries; together some 20 MB
const OWNS = 'who owns a stream';

/**
 * Makes the endpoint for events: checks a request whole, appends all its events or none, and answers `{accepted, appended,
 * duplicates, position}`; the position can be waited for. An id that is on record in its stream with the same content is accepted
 * again and not appended again; with other content the request is refused. Two requests with an id in common go one after the
 * other. Several servers do not see each other's last appends before the journal does: what slips through there is met by the
 * journal, which keeps the first and quarantines a conflict; so a server refuses nothing by its own appends alone. When the log fails in the middle of an append the answer is 503 and
 * some events may be durable: sending all again completes the rest.
 */
export function ingestEndpoint(options: IngestOptions): Endpoint {
  const { db, log, blobs, limits, metrics, clock = Date.now } = options;
  const exclusive = createExclusive();
  const recentEvents = openCache<JournalEntry>({ max: RECENT });
  const recentStreams = openCache<string>({ max: RECENT }); // their topics
  const owners: OwnersWorld = {
    db,
    recent: openCache<KnownOwner>({ max: RECENT }),
    caughtUp: (topics) => caughtUp(options, ownersProjection, [...topics]),
  };
  const annotationsFolded = () => caughtUp(options, annotations, ['trees']);
  const appendedTotal = metrics.counter('events_appended_total', 'Events appended through POST /v1/events', ['type']);
  const refusedTotal = metrics.counter('ingest_refusals_total', 'Requests of events that were refused after they were read', [
    'reason',
  ]);
  const duplicatesTotal = metrics.counter('events_duplicate_total', 'Events accepted again through POST /v1/events');

  return endpoint({
    method: 'POST',
    path: '/v1/events',
    needs: ['ingest', 'judge', 'annotate'],
    summary: 'Appends events: one JSON event, an array, or NDJSON, plain or gzip.',
    description:
      'Appends all events of a request or none. An id that is on record with the same content is accepted again and not appended again; with other content the request is refused. So is a second event of one fact of an entity, such as the step of a stepId. The position of the answer can be waited for in GraphQL.',
    body: {
      content: { 'application/json': EVENTS, 'application/x-ndjson': LINES },
      limit: limits.bodyBytes,
      budget: createBodyBudget(limits.ingestBytes),
      gate: createGate(limits.ingestRequests),
      full: busy('too many requests are in progress'),
      refuse: (headers) => (mediaOf(headers) ? undefined : unknownMedia(headers)),
      parse: (bytes, headers) => parseBody(bytes, mediaOf(headers) ?? 'json', limits.eventsPerRequest),
    },
    answers: {
      200: { description: 'Every event is on record.', content: { 'application/json': accepted } },
      ...refusals({
        400: 'The body is no UTF-8, no JSON or empty, or an event does not fit its schema.',
        403: 'An event is sent to a stream that belongs to another key or project, or the key lacks its scope.',
        409: 'An id belongs to another event, or names a stream of another topic; another event said something else of the same entity; or the epoch of an event is over.',
        413: 'The body, the number of events, or one event is over its limit.',
        415: 'Another Content-Type or Content-Encoding.',
        422: 'A stream, a run, an experiment or a payload that an event names is not on record.',
        429: 'Too many requests, or too many bytes of bodies: send again after Retry-After seconds.',
        503: 'The log does not answer, and some of the events may be durable; or the projections are too far behind to say who owns a stream: send all again.',
      }),
    },
    components: eventSchemas,
    async handle({ body, principal }) {
      const reply = await ingest(body, principal);
      if (reply.status >= 400) refusedTotal.add(1, { reason: refusal.parse(JSON.parse(String(reply.body))).error.code });
      return reply;
    },
  });

  async function ingest(values: readonly unknown[], principal: Principal): Promise<Reply> {
    const checked = checkEvents(values, clock(), { principal: principal.principal, project: principal.project });
    if (checked.kind === 'refused') return checked.reply;
    const underivable = underivableIds(checked.events, principal);
    if (underivable.length > 0) return refuseEvents('wrong-name', underivable);
    const distinct = dropRepetitions(checked.events);
    if (distinct.kind === 'conflict') return refuseEvents('conflict', distinct.problems);
    const owned = await checkOwners(distinct.events, principal, owners);
    if (owned.kind === 'forbidden') return refuseEvents('not-owned', owned.problems);
    if (owned.kind === 'unknown') return refuseEvents('unknown', owned.problems);
    if (owned.kind === 'undecided') return refuseUndecided(OWNS);
    const named = await checkNamed(distinct.events, principal, { db, blobs, annotationsFolded });
    if (named.kind === 'refused') return refuseEvents(named.reason, named.problems);
    if (named.kind === 'undecided') return refuseUndecided(OWNS);
    const prepared = await prepare(distinct.events, blobs);
    if (prepared.kind === 'refused') return prepared.reply;
    const misplaced = await checkStreamTopics(distinct.events, db, recentStreams); // the last check: what passes is claimed
    if (misplaced.length > 0) return refuseEvents('other-topic', misplaced);
    const claim = owned.claim();
    if (!claim) return refuseUndecided(OWNS);
    const taken = prepared.records.flatMap(({ event }) => uniqueKeysOf(event));
    const reply = await exclusive.run(taken, () => appendNew(prepared.records, checked.events.length, principal));
    if (reply.status !== 200) claim.release();
    return reply;
  }

  async function appendNew(prepared: readonly Prepared[], accepted: number, principal: Principal): Promise<Reply> {
    const stale = () =>
      staleEpochs(
        prepared.map(({ sent }) => sent),
        principal,
        db,
      );
    const over = await stale(); // as late as can be: what is appended behind a taken run has no effect
    if (over.length > 0) return refuseEvents('replaced', over);
    let earlier = await findEarlier(prepared, NONE);
    // What this server alone knows is no proof: another server, or the log, may have been told before, and the journal sets aside what
    // came second, its fact with it. Only the very event that was taken here repeats what was said of it.
    const unsure = prepared.filter((one) => {
      const known = earlier.get(one.sent);
      return known?.known === 'here' && (known.taken === 'fact' || contradicts(one, known));
    });
    if (unsure.length > 0) {
      const topics = new Set(unsure.map(({ event }) => catalogue[event.type].topic));
      if (!(await caughtUp(options, journal, [...topics]))) return refuseUndecided('what is on record of an entity');
      earlier = await findEarlier(prepared, new Set(unsure));
    }
    const conflicts = prepared.flatMap((one) => {
      const found = earlier.get(one.sent);
      if (!found || !contradicts(one, found)) return [];
      return [conflictOf(one.sent, `event ${found.appended.eventId} on record`, found.taken)];
    });
    if (conflicts.length > 0) return refuseEvents('conflict', conflicts);
    const fresh = prepared.filter(({ sent }) => !earlier.has(sent));
    let receipts: readonly Receipt[];
    try {
      receipts = fresh.length === 0 ? [] : await log.append(fresh.map(({ record }) => record));
    } catch (error) {
      if (error instanceof RecordTooLarge) return tooLarge(fresh, error);
      if (error instanceof LogError && error.code === 'fenced') return refuseEvents('replaced', await stale()); // the run was taken meanwhile
      throw error;
    }
    const counts = new Map<EventType, number>();
    for (const [i, { sent, hash }] of fresh.entries()) {
      const receipt = receipts[i];
      if (!receipt) throw new Error(`the log gave ${receipts.length} receipts for ${fresh.length} records`);
      for (const key of uniqueKeysOf(sent.event))
        recentEvents.set(recentKey(key, sent.event), { eventId: sent.event.id, hash, forgotten: false, receipt });
      counts.set(sent.event.type, (counts.get(sent.event.type) ?? 0) + 1);
    }
    for (const [type, count] of counts) appendedTotal.add(count, { type });
    const duplicates = accepted - fresh.length;
    duplicatesTotal.add(duplicates, {});
    const position = formatPosition(
      positionAfter([...receipts, ...[...earlier.values()].map(({ appended }) => appended.receipt)]),
    );
    return json(200, { accepted, appended: fresh.length, duplicates, position });
  }

  /** Finds which events, or the facts that they state, are on record: lately appended here, or, of some alone, in the journal. */
  async function findEarlier(
    prepared: readonly Prepared[],
    byJournal: ReadonlySet<Prepared>,
  ): Promise<ReadonlyMap<SentEvent, Earlier>> {
    const onRecord = await findJournalEntries(
      db,
      prepared.map(({ event }) => event),
    );
    const found = new Map<SentEvent, Earlier>();
    for (const one of prepared) {
      const earlier =
        earlierOf(one, 'on record', (key) => onRecord.get(key)) ??
        (byJournal.has(one) ? undefined : earlierOf(one, 'here', (key) => recentEvents.get(recentKey(key, one.event))));
      if (earlier) found.set(one.sent, earlier);
    }
    return found;
  }
}

/** What is on record of an event of a request: its id, or the fact that it states, is taken. */
interface Earlier {
  readonly appended: JournalEntry;
  readonly taken: 'id' | 'fact';
  /** By the journal, or by this server alone, which appended it a moment ago. */
  readonly known: 'on record' | 'here';
}

function earlierOf(
  { event }: Prepared,
  known: Earlier['known'],
  find: (key: string) => JournalEntry | undefined,
): Earlier | undefined {
  for (const [i, key] of uniqueKeysOf(event).entries()) {
    const appended = find(key);
    if (appended) return { appended, taken: i === 0 ? 'id' : 'fact', known };
  }
  return undefined;
}

/** Whether an event says something else than what is known of it. */
function contradicts({ hash, event }: Prepared, earlier: Earlier | undefined): boolean {
  return earlier !== undefined && earlier.appended.hash !== (earlier.appended.forgotten ? clearHash(event) : hash);
}

/**
 * Of another run or epoch the last appends are no proof: what names a run that its stream does not belong to is set aside by the
 * journal, and what a replaced producer appended may have no effect.
 */
function recentKey(key: string, { correlationId, epoch }: Envelope): string {
  return `${key} ${correlationId} ${epoch ?? ''}`;
}

const EVENTS = {
  oneOf: [{ $ref: '#/components/schemas/Event' }, { type: 'array', items: { $ref: '#/components/schemas/Event' } }],
};
const LINES = { type: 'string', description: 'An event per line; blank lines are skipped.' };

const accepted = z.object({
  accepted: z.int().describe('Events of the request.'),
  appended: z.int().describe('Those of them that are new.'),
  duplicates: z.int().describe('Those that were on record, or twice in the request.'),
  position: z.string().describe('Next offsets behind the events, as `runs.0:3,trees.2:41`.'),
});

interface Prepared {
  readonly sent: SentEvent;
  readonly record: LogRecord;
  /** The event as it is appended: its text storable, its large payloads blobs. */
  readonly event: Envelope;
  readonly hash: string;
}

/**
 * Brings events into the form of the log. Blobs are put on the way: those of a request refused later are kept, and harmless by
 * their name.
 */
async function prepare(
  events: readonly SentEvent[],
  blobs: BlobStore,
): Promise<
  { readonly kind: 'records'; readonly records: readonly Prepared[] } | { readonly kind: 'refused'; readonly reply: Reply }
> {
  const records: Prepared[] = [];
  for (const sent of events) {
    try {
      const record = await prepareParsed(sent.event, blobs);
      records.push({ sent, record, event: record.event, hash: contentHash(record.event) });
    } catch (error) {
      if (!(error instanceof EventRefused)) throw error;
      return { kind: 'refused', reply: notStorable(sent, error) };
    }
  }
  const large = records.filter(({ record }) => Buffer.byteLength(record.key) + record.value.byteLength > RECORD_LIMIT);
  return large.length > 0
    ? { kind: 'refused', reply: tooLarge(large, { limit: RECORD_LIMIT, appended: 0 }) }
    : { kind: 'records', records };
}

function notStorable({ index, event }: SentEvent, { path, message }: EventRefused): Reply {
  return refuseEvents('not-storable', [{ index, id: event.id, path, message }]);
}

function tooLarge(events: readonly Prepared[], { limit, appended }: Pick<RecordTooLarge, 'limit' | 'appended'>): Reply {
  const remedy =
    'split it and send all again; texts over 64 KiB are moved out by the server, long lists and free-form configuration are not';
  const largest = events.reduce((most, { record }) => Math.max(most, record.value.byteLength), 0);
  const problems = events
    .filter(({ record: { value } }) => value.byteLength === largest || (limit !== null && value.byteLength > limit))
    .map(({ sent: { index, event }, record }) => ({
      index,
      id: event.id,
      path: '',
      message: `takes ${record.value.byteLength} bytes`,
      remedy,
    }));
  const over = limit === null ? "the log's limit" : `the log's limit of ${limit} bytes`;
  const done = appended === 0 ? 'nothing was appended' : `${appended} of the ${events.length} new events were appended before it`;
  return refuse(413, `an event is over ${over}; ${done}`, remedy, { problems });
}
