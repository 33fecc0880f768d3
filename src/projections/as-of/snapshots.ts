import { sha256Hex } from '../../digest/sha256.ts';
import type { Offsets } from '../../log/event-log.ts';
import { formatPosition } from '../../log/position.ts';
import { type Database, type Db, openDatabase } from '../../postgres/database.ts';
import { AsOfError } from './as-of-error.ts';
import { foldSnapshot } from './fold-snapshot.ts';
import { type Moment, resolveMoment } from './moment.ts';
import { countRecords } from './read-records.ts';
import { type Entities, projectionsOf, type Scope, scopeOf } from './scope.ts';
import { becomeOwner, type SnapshotOwner } from './snapshot-owner.ts';
import {
  createSnapshotSchema,
  dropSnapshotSchema,
  isSnapshotThere,
  readShownVersions,
  type ShownVersions,
} from './snapshot-schema.ts';

/** The read models as of a moment, held until released. */
export interface Snapshot {
  /** Reads them: the same names, the same statements as of the live ones. It cannot write. */
  readonly db: Db;
  /** Next offsets of every partition. */
  readonly position: Offsets;
  /** Releases it; again does nothing. */
  release(): void;
}

export interface Snapshots {
  /**
   * Folds the record up to a moment, or takes what was folded before. Asked for entities, it folds their streams alone and holds
   * nothing else.
   * @throws AsOfError; what the signal aborts with. A fold that nobody waits for any more is given up.
   */
  at(moment: Moment, of: Entities | 'all', signal: AbortSignal): Promise<Snapshot>;
  /** Drops every snapshot. */
  close(): Promise<void>;
}

export interface SnapshotLimits {
  /** The most records folded for one snapshot. */
  readonly records: number;
  /** How many snapshots are kept for who asks again; more only while all of them are in use. */
  readonly kept?: number;
  /** The longest that a statement on one may take; without a bound when left out. */
  readonly statementMs?: number;
}

const KEPT = 8; // each holds tables of about the size of what it shows, and no connection after 10 s of rest
const CONNECTIONS = 4; // projections folded at once: more wait for two cores

/** Keeps read models as of moments of the record, each in a schema of its own. It opens nothing before it is first asked. */
export function keepSnapshots(database: Database, url: string, limits: SnapshotLimits): Snapshots {
  const kept = new Map<string, Kept>(); // the one used last comes last
  const leaving = new Set<Promise<void>>();
  let owner: Promise<SnapshotOwner> | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  let closed = false;

  async function at(moment: Moment, of: Entities | 'all', signal: AbortSignal): Promise<Snapshot> {
    const position = await resolveMoment(database.db, moment);
    const scope: Scope = of === 'all' ? { kind: 'all' } : await scopeOf(database.db, of);
    const shownVersions = await readShownVersions(database.db);
    signal.throwIfAborted();
    const key = sha256Hex(JSON.stringify([formatPosition(position), scope, [...shownVersions]]));
    await forgetLost();
    if (closed) throw new Error('the snapshots are closed');
    await forgetDropped(key);
    const entry = kept.get(key) ?? begin(position, scope, shownVersions);
    kept.delete(key);
    kept.set(key, entry);
    entry.users++;
    const release = once(() => {
      entry.users--;
      if (entry.users > 0) return;
      if (!entry.settled) giveUp(key, entry);
      else if (kept.get(key) !== entry) letGo(entry);
      else shrink();
    });
    try {
      const { db } = await abortable(entry.ready, signal);
      return { db, position, release };
    } catch (error) {
      if (entry.settled && kept.get(key) === entry) kept.delete(key); // it failed: who asks next begins again
      release();
      throw error;
    }
  }

  /** Begins a fold, one at a time: a second one would only make both take twice as long. */
  function begin(position: Offsets, scope: Scope, versions: ShownVersions): Kept {
    const stop = new AbortController();
    const ready = turn.then(() => build(position, scope, versions, stop.signal));
    const entry: Kept = { ready, stop, users: 0, settled: false };
    const settle = () => {
      entry.settled = true;
    };
    turn = ready.then(settle, settle);
    return entry;
  }

  function giveUp(key: string, entry: Kept): void {
    if (kept.get(key) === entry) kept.delete(key);
    entry.stop.abort(new Error('nobody waits for this snapshot any more'));
    letGo(entry); // it may have been made in the same moment
  }

  async function build(position: Offsets, scope: Scope, versions: ShownVersions, signal: AbortSignal): Promise<Built> {
    signal.throwIfAborted();
    const records = await countRecords(database.db, position, scope);
    if (records > limits.records) throw tooLarge(records, limits.records, scope);
    owner ??= becomeOwner(url, database.db).catch((error: unknown) => {
      owner = undefined;
      throw error;
    });
    const schema = (await owner).nextSchema();
    const projections = projectionsOf(scope);
    try {
      await createSnapshotSchema(database.db, schema, projections, position, versions);
      const folding = await openDatabase(url, { ...named('fold'), settings: { search_path: schema, synchronous_commit: 'off' } });
      try {
        await foldSnapshot({ from: database.db, into: folding.db }, projections, position, scope, signal);
      } finally {
        await folding.close();
      }
      const settings = {
        search_path: schema,
        default_transaction_read_only: 'on',
        statement_timeout: String(limits.statementMs ?? 0),
      };
      const reading = await openDatabase(url, { ...named('read'), settings });
      return {
        db: reading.db,
        schema,
        async drop() {
          await reading.close();
          await dropSnapshotSchema(database.db, schema);
        },
      };
    } catch (error) {
      await dropSnapshotSchema(database.db, schema).catch(() => undefined); // else the next owner finds it
      throw error;
    }
  }

  /** Lets go of those used longest ago. */
  function shrink(): void {
    for (const [key, entry] of kept) {
      if (kept.size <= (limits.kept ?? KEPT)) return;
      if (entry.users > 0) continue;
      kept.delete(key);
      letGo(entry);
    }
  }

  /** Drops what nobody finds any more; `close` waits for it. */
  function letGo(entry: Kept): void {
    const gone: Promise<void> = drop(entry).finally(() => leaving.delete(gone));
    leaving.add(gone);
  }

  /** A lost connection gave our lock back: another process may have dropped what we kept. */
  async function forgetLost(): Promise<void> {
    const held = await owner?.catch(() => undefined);
    if (!held || held.lives()) return;
    owner = undefined;
    const lost = [...kept.values()];
    kept.clear();
    for (const entry of lost) if (entry.users === 0) letGo(entry);
  }

  /** A forgetting drops the snapshots of all processes, those too that were folded since it destroyed the keys. */
  async function forgetDropped(key: string): Promise<void> {
    const entry = kept.get(key);
    if (!entry?.settled) return;
    const built = await entry.ready.catch(() => undefined);
    if (!built || (await isSnapshotThere(database.db, built.schema)) || kept.get(key) !== entry) return;
    kept.delete(key);
    if (entry.users === 0) letGo(entry);
  }

  return {
    at,
    async close() {
      closed = true;
      const all = [...kept.values()];
      kept.clear();
      for (const { stop } of all) stop.abort(new Error('the snapshots are closed'));
      for (const entry of all) letGo(entry);
      await Promise.all(leaving);
      await (await owner?.catch(() => undefined))?.close();
    },
  };
}

interface Built {
  readonly db: Db;
  readonly schema: string;
  drop(): Promise<void>;
}
interface Kept {
  readonly ready: Promise<Built>;
  readonly stop: AbortController;
  users: number;
  settled: boolean;
}

/** A schema that cannot be dropped now is dropped by the next owner. */
async function drop({ ready }: Kept): Promise<void> {
  await ready.then((built) => built.drop()).catch(() => undefined);
}

function named(what: string) {
  return { applicationName: `espalier as of (${what})`, max: CONNECTIONS };
}

function tooLarge(records: number, limit: number, scope: Scope): AsOfError {
  const narrower = scope.kind === 'all' ? ', or ask for one run or tree by its id' : '';
  return new AsOfError(
    'too-large',
    `${records} events would have to be folded and ${limit} are allowed; ask for an earlier moment${narrower}, or raise ESPALIER_ASOF_LIMIT`,
  );
}

function once(act: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    act();
  };
}

function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
