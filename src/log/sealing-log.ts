import { encode } from '../events/codec.ts';
import { DEFAULT_STAMP, type Envelope } from '../events/envelope.ts';
import { payloadFields } from '../events/payload-fields.ts';
import { type StreamKey, sealEvent } from '../events/seal.ts';
import { openCache } from '../runtime/cache.ts';
import { doubling, retry } from '../runtime/retry.ts';
import { logFault } from './embedded-log-fault.ts';
import type { EventLog, LogRecord, Receipt } from './event-log.ts';

/** Where a sealing log takes keys and rules from. */
export interface Seals {
  /** Returns the keys in force of streams, made where there are none. */
  keysOf(streams: readonly string[]): Promise<ReadonlyMap<string, StreamKey>>;
  /** Returns which projects say whether their payload is sealed. */
  rules(): Promise<ReadonlyMap<string, boolean>>;
  /** Whether payload of a project that says nothing is sealed. */
  readonly otherwise: boolean;
}

const KEPT = 20_000; // keys, about 10 MB
const KEPT_MS = 60_000; // for so long at most an appender goes on sealing by a key that was destroyed
const RULES_MS = 10_000; // for so long at most an appender follows the rules before a change
const PATIENCE_MS = 30_000; // as the embedded log waits for Postgres

/**
 * Seals the payload of events on their way into a log, whoever appends them, as their projects say. Keys are asked for once per
 * stream and minute, all that a call needs together; a call that needs none passes at once. Calls keep their order. What is read
 * is as it lies in the log: who decodes records opens them. A record without its event (a requeue from quarantine) keeps the
 * bytes that it had.
 */
export function sealingLog(log: EventLog, seals: Seals, now: () => number = () => performance.now()): EventLog {
  const keys = openCache<StreamKey>({ max: KEPT, ttl: KEPT_MS });
  let rules: { readonly of: ReadonlyMap<string, boolean>; readonly until: number } | undefined;
  let tail: Promise<unknown> | undefined;

  const isSealed = (event: Envelope): boolean =>
    payloadFields[event.type].length > 0 && (rules?.of.get(projectOf(event)) ?? seals.otherwise);

  /** Returns the keys that records need, and for which of their streams there is none here. */
  function heldFor(records: readonly LogRecord[]) {
    const held = new Map<string, StreamKey>();
    const missing = new Set<string>();
    for (const { event } of records) {
      if (!event || !isSealed(event) || held.has(event.stream) || missing.has(event.stream)) continue;
      const key = keys.get(event.stream);
      if (key) held.set(event.stream, key);
      else missing.add(event.stream);
    }
    return { held, missing };
  }

  async function withKeys(records: readonly LogRecord[]): Promise<readonly LogRecord[]> {
    if (!rules || rules.until <= now()) rules = { of: await whilePostgresIsAway(() => seals.rules()), until: now() + RULES_MS };
    const { held, missing } = heldFor(records);
    if (missing.size > 0) {
      for (const [stream, key] of await whilePostgresIsAway(() => seals.keysOf([...missing]))) {
        keys.set(stream, key);
        held.set(stream, key);
      }
    }
    return records.map((record) => sealRecord(record, held));
  }

  return {
    ...log,
    append(records) {
      if (tail === undefined && rules && rules.until > now()) {
        const { held, missing } = heldFor(records);
        if (missing.size === 0) return log.append(records.map((record) => sealRecord(record, held)));
      }
      const handed = (tail ?? Promise.resolve()).then(() => withKeys(records)).then((ready) => ({ receipts: log.append(ready) }));
      const mine: Promise<unknown> = handed.then(noMore, noMore);
      tail = mine;
      return handed.then(({ receipts }): Promise<readonly Receipt[]> => receipts);

      function noMore() {
        if (tail === mine) tail = undefined;
      }
    },
    async close() {
      await tail;
      await log.close();
    },
  };
}

function projectOf({ project }: Envelope): string {
  return project ?? DEFAULT_STAMP.project;
}

function sealRecord(record: LogRecord, held: ReadonlyMap<string, StreamKey>): LogRecord {
  const { event } = record;
  const key = event && held.get(event.stream);
  if (!event || !key) return record;
  const sealed = sealEvent(event, key);
  return sealed === event ? record : { ...record, value: encode(sealed) };
}

/** Asks again while Postgres cannot be reached, as an append to the embedded log does: a collector outlives its restart. */
function whilePostgresIsAway<T>(work: () => Promise<T>): Promise<T> {
  return retry(work, {
    pauseMs: doubling(50, 2_000),
    again: ({ error, elapsedMs, pauseMs }) => {
      if (!('code' in Object(error))) return false; // of neither Postgres nor the network: a master key that does not fit
      const fault = logFault('making keys', error);
      if (!fault.retryable || elapsedMs + pauseMs > PATIENCE_MS) throw fault;
      return true;
    },
  });
}
