import type { BlobStore } from '../src/blobs/blob-store.ts';
import type { EventLog } from '../src/log/event-log.ts';
import { countedRows } from '../src/postgres/counted-rows.ts';
import type { Db } from '../src/postgres/database.ts';
import type { Notices } from '../src/postgres/notices.ts';
import type { Principal } from '../src/postgres/principal.ts';
import type { Snapshots } from '../src/projections/as-of/snapshots.ts';
import type { Projection } from '../src/projections/projection.ts';
import { visibleTo } from '../src/projections/visible-to.ts';
import type { Annotate } from '../src/usecases/annotate/annotate.ts';
import type { TokenDecoders } from '../src/usecases/datasets/export/token-decoder.ts';
import type { Requeue } from '../src/usecases/requeue/requeue-events.ts';
import { Moments } from './as-of/moments.ts';
import { LargeTexts } from './large-text.ts';
import { type Gate, Turn } from './limits/gate.ts';
import type { Limits } from './limits/limits.ts';
import { QueryLimits } from './limits/query-limits.ts';
import { createEstimateBudget, createPathBudget } from './loaders/budgets.ts';
import { createLoaders, type Loaders } from './loaders/create-loaders.ts';

/** What the API reads from: the read models, the end of the log, the blobs, and word of moved cursors. */
export interface Sources {
  readonly db: Db;
  /** The same database for what waits and follows: of short statements that count to no query. */
  readonly tails: Db;
  readonly log: Pick<EventLog, 'ends'>;
  readonly blobs: Pick<BlobStore, 'get'>;
  /** The notices of `CURSOR_CHANNEL`. */
  readonly notices: Pick<Notices, 'count' | 'beyond'>;
  readonly projections: readonly Projection[];
  /** The read models as of other moments of the record. */
  readonly snapshots: Pick<Snapshots, 'at'>;
  /** The tokenizers that the installation knows; left out where it knows none. */
  readonly tokenizers?: TokenDecoders;
  /** Records annotations; left out where nothing is written. */
  readonly annotate?: Annotate;
  /** Releases from quarantine; left out where nothing is written. */
  readonly requeue?: Requeue;
}

/** What a request reads from: what its principal sees. */
export interface ReadSources extends Sources {
  /** The database for keys of streams, which no moment and no project has to itself: to be asked of what was read. */
  readonly keys: Db;
}
/** What the server says of a request. */
export interface ServerContext {
  /** Who asks. */
  readonly principal: Principal;
}

/** What the resolvers of one request share. */
export interface Context extends ServerContext {
  readonly sources: ReadSources;
  readonly loaders: Loaders;
  readonly texts: LargeTexts;
  /** The position that is looked at; null now. */
  readonly moment: string | null;
  /** All that this request looks at. */
  readonly moments: Moments<Context>;
  /** Counts all that the request reads. */
  readonly limits: QueryLimits;
  /** The request among the others. */
  readonly turn: Turn;
  /** Lets a subscription begin. Returns what ends it. @throws LIMIT_EXCEEDED. */
  readonly beginSubscription: () => () => void;
  /** Ends when the caller leaves. */
  readonly signal: AbortSignal;
}

/**
 * Makes the context of one request, which reads what the principal sees: loaders and blobs remember within it, and never beyond
 * it.
 */
export function createContext(
  given: Sources,
  allowed: Limits,
  gate: Gate,
  { signal, principal }: ServerContext & { readonly signal: AbortSignal },
): Omit<Context, keyof ServerContext> {
  const key = principal.keyId ?? 'local';
  const limits = new QueryLimits(allowed);
  const keys = countedRows(given.db, limits.countRows);
  const sources = { ...given, keys, db: visibleTo(keys, principal), tails: visibleTo(given.tails, principal) };
  const texts = new LargeTexts(sources.blobs);
  const moments = new Moments<Context>();
  const left = () => {
    moments.end();
    limits.abandon();
  };
  signal.addEventListener('abort', left, { once: true });
  const loaders = createLoaders(sources.db, texts, sources.blobs, {
    estimateBudget: createEstimateBudget(),
    pathBudget: createPathBudget(),
  });
  const turn = new Turn(gate, key, signal);
  const beginSubscription = () => gate.beginSubscription(key);
  return { sources, loaders, texts, moment: null, moments, limits, turn, beginSubscription, signal };
}
