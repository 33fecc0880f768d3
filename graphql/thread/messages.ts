import type { Offsets } from '../../src/log/event-log.ts';
import type { Principal } from '../../src/postgres/principal.ts';
import type { Config, LogLevel } from '../../src/runtime/config.ts';
import type { AnnotateAsked, Annotated } from '../../src/usecases/annotate/annotate.ts';
import type { ReleaseAsked, Released } from '../../src/usecases/release/open-release.ts';
import type { ServerContext } from '../context.ts';
import type { QueryUse } from '../metering/query-use.ts';

/** What the thread is started with. */
export interface ThreadData {
  readonly config: Pick<Config, 'blobs' | 'asOfLimit' | 'masterKeyFile' | 'tokenizers'>;
  readonly databaseUrl: string;
  /** The same database with sessions of one's own: notices and snapshots. */
  readonly directUrl: string;
}

/** What the server sends to the thread that answers queries. */
export type ToThread =
  | {
      readonly kind: 'request';
      readonly id: number;
      readonly method: string;
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Uint8Array | null;
      readonly context: ServerContext;
    }
  /** The client took so many bytes of the answer. */
  | { readonly kind: 'taken'; readonly id: number; readonly bytes: number }
  /** The client left. */
  | { readonly kind: 'left'; readonly id: number }
  | { readonly kind: 'ends'; readonly id: number; readonly ends: Offsets | Error }
  | { readonly kind: 'annotated'; readonly id: number; readonly annotated: Annotated | Error }
  | { readonly kind: 'released'; readonly id: number; readonly released: Released | Error }
  | { readonly kind: 'close' };

/** What the thread says. */
export type FromThread =
  | { readonly kind: 'head'; readonly id: number; readonly status: number; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: 'part'; readonly id: number; readonly bytes: Uint8Array }
  | { readonly kind: 'end'; readonly id: number }
  | { readonly kind: 'failed'; readonly id: number; readonly error: unknown }
  /** Asks for the ends of the log, which the server has open. */
  | { readonly kind: 'ends'; readonly id: number; readonly topics: readonly string[] }
  /** Has annotations recorded by the server, which appends to the log. */
  | { readonly kind: 'annotate'; readonly id: number; readonly asked: AnnotateAsked; readonly principal: Principal }
  /** Has quarantined records released by the server, likewise. */
  | { readonly kind: 'release'; readonly id: number; readonly asked: ReleaseAsked; readonly principal: Principal }
  /** What a query used, and the id of the key that asked. */
  | { readonly kind: 'used'; readonly key: string; readonly use: QueryUse }
  | { readonly kind: 'log'; readonly level: LogLevel; readonly message: string; readonly fields: unknown };
