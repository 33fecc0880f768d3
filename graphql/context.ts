import type { BlobStore } from '../src/blobs/blob-store.ts';
import type { EventLog } from '../src/log/event-log.ts';
import type { Db } from '../src/postgres/database.ts';
import type { Notices } from '../src/postgres/notices.ts';
import type { Principal } from '../src/postgres/principal.ts';
import type { Snapshots } from '../src/projections/as-of/snapshots.ts';
import type { Projection } from '../src/projections/projection.ts';
import { Moments } from './as-of/moments.ts';
import { LargeTexts } from './large-text.ts';
import { createLoaders, type Loaders } from './loaders/create-loaders.ts';

/** What the API reads from: the read models, the end of the log, the blobs, and word of moved cursors. */
export interface Sources {
  readonly db: Db;
  readonly log: Pick<EventLog, 'ends'>;
  readonly blobs: Pick<BlobStore, 'get'>;
  /** The notices of `CURSOR_CHANNEL`. */
  readonly notices: Pick<Notices, 'count' | 'beyond'>;
  readonly projections: readonly Projection[];
  /** The read models as of other moments of the record. */
  readonly snapshots: Pick<Snapshots, 'at'>;
}
/** What the server says of a request. */
export interface ServerContext {
  /** Who asks. */
  readonly principal: Principal;
}

/** What the resolvers of one request share. */
export interface Context extends ServerContext {
  readonly sources: Sources;
  readonly loaders: Loaders;
  readonly texts: LargeTexts;
  /** The position that is looked at; null now. */
  readonly moment: string | null;
  /** All that this request looks at. */
  readonly moments: Moments<Context>;
  /** Ends when the caller leaves. */
  readonly signal: AbortSignal;
}

/** Makes the context of one request: loaders and blobs remember within it, and never beyond it. */
export function createContext(sources: Sources, request: Request): Omit<Context, keyof ServerContext> {
  const texts = new LargeTexts(sources.blobs);
  const moments = new Moments<Context>();
  request.signal.addEventListener('abort', () => moments.end(), { once: true });
  const loaders = createLoaders(sources.db, texts, sources.blobs);
  return { sources, loaders, texts, moment: null, moments, signal: request.signal };
}
