import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { BlobStore } from '../../src/blobs/blob-store.ts';
import type { ObjectStore } from '../../src/blobs/object-store.ts';
import { sha256Hex } from '../../src/digest/sha256.ts';
import { CODE_VERSION } from '../../src/platform/code-version.ts';
import type { Db } from '../../src/postgres/database.ts';
import type { Principal } from '../../src/postgres/principal.ts';
import { countDestroyedKeys } from '../../src/postgres/stream-keys.ts';
import type { Snapshots } from '../../src/projections/as-of/snapshots.ts';
import { visibleTo } from '../../src/projections/visible-to.ts';
import { type Logger, SILENT } from '../../src/runtime/logger.ts';
import { DatasetError, type DatasetErrorCode } from '../../src/usecases/datasets/dataset-error.ts';
import { isParquet } from '../../src/usecases/datasets/export/formats.ts';
import { manifestPath } from '../../src/usecases/datasets/export/manifest.ts';
import { exportQuery } from '../../src/usecases/datasets/export-query.ts';
import { dropKept, type KeptFile, KeptFiles } from '../../src/usecases/datasets/kept-exports.ts';
import type { ExportRequest } from '../../src/usecases/datasets/plan-export.ts';
import type { ServerContext } from '../context.ts';
import { boundStreams } from '../tables/bound-streams.ts';
import { refusal, refusedReading } from '../tables/refusal.ts';
import { type ByteRange, byteRange, strongTag } from './byte-range.ts';

export interface ExportsOptions {
  /** Connections of their own: an export holds one while it is written. */
  readonly db: Db;
  readonly blobs: BlobStore;
  readonly snapshots: Pick<Snapshots, 'at'>;
  /** Where files are while they are read. */
  readonly objects: ObjectStore;
  /** Folder in which they are while they are written. */
  readonly scratch: string;
  /** Whether large files are read from the store itself, by a signed address. */
  readonly redirects: boolean;
  readonly logger?: Logger;
}

const WAIT_MS = 60_000; // for projections that are apart, as the command waits
const REDIRECTED_BYTES = 8 << 20; // a smaller file is sent faster than an address is followed
const SECRET_FREE = { 'cache-control': 'private, no-cache', 'accept-ranges': 'bytes' };

/**
 * Answers `GET /v1/exports` with the file that `espalier export` writes, byte for byte, or with its manifest. The file is written
 * whole before its first byte is sent, so that a refusal has a status. It is kept for a while under the request, so that a client
 * that read a part continues with the same bytes (Range, If-Range), at any server; after something was forgotten, no kept file is sent.
 */
export function createExports({ db, blobs, snapshots, objects, scratch, redirects, logger = SILENT }: ExportsOptions) {
  const enter = boundStreams();
  const files = new KeptFiles(objects, scratch);

  async function fetch(request: Request, { principal }: ServerContext): Promise<Response> {
    const parsed = exportQuery.safeParse(Object.fromEntries(new URL(request.url).searchParams));
    if (!parsed.success) return refusal(400, 'invalid', parsed.error.message, 'correct the parameters');
    try {
      const { exportRequestOf } = await import('../../src/usecases/datasets/plan-export.ts'); // a start that may not need it
      const asked = exportRequestOf(parsed.data);
      const { manifest: _, ...same } = parsed.data;
      const forgotten = await countDestroyedKeys(db); // a file of before a forgetting is found by nobody
      const key = sha256Hex(JSON.stringify([forgotten, principal.projects, same]));
      const tag = strongTag(request.headers.get('if-range'));
      const kept = tag === undefined || asked.answer === 'manifest' ? undefined : await files.find(key, tag);
      const found = kept && (await answer(kept, asked, byteRange(request.headers.get('range'), kept.bytes)));
      if (found) return found;
      const leave = enter(principal.keyId ?? 'local');
      if (!leave) return refusal(429, 'busy', 'too many exports are being written', 'ask again when one of them has ended', 1);
      try {
        for (let tries = 2; tries > 0; tries--) {
          const made = await files.make(key, request.signal, (path, signal) => write(path, asked, principal, signal));
          if ((await countDestroyedKeys(db)) !== forgotten) {
            await dropKept(objects);
            throw new DatasetError('projections-behind', 'something was forgotten while the file was written; ask again');
          }
          if (asked.answer === 'manifest') return answerManifest(made);
          const other = request.headers.has('if-range') && tag !== made.sha256;
          const reply = await answer(made, asked, byteRange(other ? null : request.headers.get('range'), made.bytes));
          if (reply) return reply;
        }
      } finally {
        leave();
      }
      throw new DatasetError('projections-behind', 'the file was removed before it was read; ask again');
    } catch (error) {
      return refused(error, logger);
    }
  }

  async function answer(file: KeptFile, asked: ExportRequest, range: ByteRange): Promise<Response | undefined> {
    const address = redirects && range.kind !== 'beyond' && file.bytes >= REDIRECTED_BYTES ? await files.addressOf(file) : null;
    if (address === null) return answerFile(files, file, asked, range);
    return new Response(null, { status: 307, headers: { 'cache-control': 'no-store', location: address.href } });
  }

  async function write(path: string, { plan, query, empty, moment }: ExportRequest, principal: Principal, signal: AbortSignal) {
    const entities =
      plan.kind === 'rows' || query.runs === null ? 'all' : { runs: query.runs, trees: [], steps: [], rollouts: [] };
    const snapshot = moment === null ? null : await snapshots.at(moment, entities, signal);
    try {
      const common = {
        db: visibleTo(snapshot?.db ?? db, principal),
        blobs,
        query,
        out: path,
        existing: 'refuse',
        codeVersion: CODE_VERSION,
        waitMs: WAIT_MS,
        signal,
        onPictures: () => refuseOwnFiles(plan.format.kind),
        onProgress: () => undefined,
      } as const;
      const { exportRows } = await import('../../src/usecases/datasets/rows/export-rows.ts');
      const { exportTrajectories } = await import('../../src/usecases/datasets/export/export-trajectories.ts');
      const { sha256, bytes } =
        plan.kind === 'rows'
          ? await exportRows({ ...common, general: null, format: plan.format, parameters: plan.parameters })
          : await exportTrajectories({ ...common, empty, format: plan.format });
      return { sha256, bytes, manifest: await readFile(manifestPath(path), 'utf8') };
    } finally {
      snapshot?.release();
    }
  }

  return {
    fetch,
    /** Removes the files that are kept, of other servers too. */
    drop: () => dropKept(objects),
    close: () => files.close(),
  };
}

/** @throws DatasetError `picture` for formats whose pictures are files next to the one that is sent. */
function refuseOwnFiles(kind: string): void {
  if (!['trl', 'trl-grpo', 'dpo', 'sharegpt'].includes(kind)) return;
  throw new DatasetError(
    'picture',
    `pictures of ${kind} lie in files next to it, which one answer does not hold; take --format openai, parquet or verl, or export on the machine of the installation`,
  );
}

function answerManifest({ manifest, sha256 }: KeptFile & { readonly manifest: string }): Response {
  const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
  return new Response(manifest, { headers: { ...headers, 'espalier-sha256': sha256 } });
}

/** Undefined where the file was removed meanwhile. */
async function answerFile(
  files: KeptFiles,
  file: KeptFile,
  { plan }: ExportRequest,
  range: ByteRange,
): Promise<Response | undefined> {
  const { sha256, bytes } = file;
  if (range.kind === 'beyond') {
    const beyond = refusal(416, 'beyond', `the file has ${bytes} bytes`, 'ask for some of them, or leave Range out');
    beyond.headers.set('content-range', `bytes */${bytes}`);
    return beyond;
  }
  const parquet = plan.kind === 'trajectories' && isParquet(plan.format);
  const { from, until } = range.kind === 'part' ? range : { from: 0, until: bytes };
  const part = await files.open(file, { from, until });
  if (part === undefined) return undefined;
  const headers = {
    ...SECRET_FREE,
    etag: `"${sha256}"`,
    'content-type': parquet ? 'application/vnd.apache.parquet' : 'application/x-ndjson',
    'content-length': String(until - from),
    'content-disposition': `attachment; filename="export.${parquet ? 'parquet' : 'jsonl'}"`,
    ...(range.kind === 'part' ? { 'content-range': `bytes ${from}-${until - 1}/${bytes}` } : {}),
  };
  const body = part && (Readable.toWeb(part) as unknown as ReadableStream<Uint8Array>); // Node's type of the same
  return new Response(body, { status: range.kind === 'part' ? 206 : 200, headers });
}

/** The status of what the record refuses; 422 where none is named. */
const STATUSES: Partial<Readonly<Record<DatasetErrorCode, number>>> = {
  'invalid-query': 400,
  'nothing-matches': 404,
  forgotten: 410,
  'projections-behind': 503,
  'cannot-write': 503,
};

function refused(error: unknown, logger: Logger): Response {
  if (error instanceof DatasetError) {
    const status = STATUSES[error.code] ?? 422;
    if (error.code === 'cannot-write') {
      logger.error('an export was not written', { error });
      return refusal(status, error.code, 'the server cannot write the file', 'see its log; ask again', 2);
    }
    const [message, remedy] = split(error.message.replace(/--([a-z-]+)/g, (_, name: string) => camelCase(name)));
    return refusal(status, error.code, message, remedy, status === 503 ? 2 : undefined);
  }
  if (error instanceof Error && error.name === 'AbortError') return refusal(499, 'left', 'the caller left', 'ask again');
  return refusedReading(error, logger, 'an export');
}

/** An option of the command is a parameter here. */
function camelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** What is wrong, and behind the last semicolon what to do. */
function split(message: string): readonly [string, string] {
  const at = message.lastIndexOf('; ');
  return at === -1 ? [message, 'correct the parameters'] : [message.slice(0, at), message.slice(at + 2)];
}
