import { createReadStream } from 'node:fs';
import { stat as statFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { S3ClientConfig } from '@aws-sdk/client-s3';
import { sha256Bytes } from '../digest/sha256.ts';
import type { Bucket } from '../runtime/bucket.ts';
import { type ObjectStore, ObjectsRefused, ObjectsUnreachable, objectName, type StoredObject } from './object-store.ts';

const PART_BYTES = 16 << 20;
const PARTS_AT_ONCE = 4;
const CONNECT_MS = 5_000;
const IDLE_MS = 30_000;
const SOCKETS = 128;
const TRIES = 4;
/** A put within this time of the last one is not repeated; far below the grace of every removal. */
const YOUNG_MS = 15_000;
/** Longer than a store takes a signed request. */
const LOCK_MS = 20 * 60_000;
const LOCK_WAITS = 20;
const LOCK_WAIT_MS = 250;

/**
 * Opens a store in a bucket of S3, or of what speaks its protocol. The SDK is loaded here, so that a process without a bucket does
 * without it. The caller closes it.
 *
 * A removal must not take an object that is put at the same time, and S3 has no deletion on the condition of a time. So a removal
 * first creates `removing/NAME`, then looks at the age of the object, deletes it, and deletes its lock. A put that creates the
 * object needs no lock: whoever saw an older one holds the lock until it is deleted. A put that finds it looks for a lock
 * after it has made the object young, and then for the object.
 */
export async function openS3Objects(options: Bucket): Promise<ObjectStore> {
  const { bucket, prefix } = options;
  const sdk = await import('@aws-sdk/client-s3');
  const client = new sdk.S3Client(clientOptions(options));
  const keyOf = (name: string) => `${prefix === '' ? '' : `${prefix}/`}${objectName(name)}`;
  const lockOf = (name: string) => `removing/${name}`;
  let isChecked = false;
  const { attempt, present } = faultsOf(options, () => isChecked);

  const head = (name: string): Promise<StoredObject | undefined> =>
    present(async () => {
      const { ContentLength, LastModified } = await client.send(new sdk.HeadObjectCommand({ Bucket: bucket, Key: keyOf(name) }));
      return { name, bytes: ContentLength ?? 0, putAt: LastModified?.getTime() ?? Date.now() };
    });

  const write = (name: string, bytes: Uint8Array, condition: { readonly IfNoneMatch?: '*' }) =>
    attempt(() =>
      client.send(
        new sdk.PutObjectCommand({
          Bucket: bucket,
          Key: keyOf(name),
          Body: bytes,
          ContentLength: bytes.byteLength,
          ChecksumSHA256: sha256Bytes(bytes).toString('base64'),
          ...condition,
        }),
      ),
    );

  /** Stores an object unless there is one; returns whether there was none. */
  async function create(name: string, bytes: Uint8Array): Promise<boolean> {
    if (bytes.byteLength > PART_BYTES) {
      if ((await head(name)) !== undefined) return false;
      await upload(name, bytes);
      return true;
    }
    try {
      await write(name, bytes, { IfNoneMatch: '*' });
      return true;
    } catch (error) {
      if (error instanceof AlreadyStored) return false;
      throw error;
    }
  }

  const replace = (name: string, bytes: Uint8Array) =>
    bytes.byteLength > PART_BYTES ? upload(name, bytes) : write(name, bytes, {});

  async function upload(name: string, body: Uint8Array | (() => Readable), signal?: AbortSignal): Promise<void> {
    const { Upload } = await import('@aws-sdk/lib-storage');
    await attempt(async () => {
      const parts = new Upload({
        client,
        params: {
          Bucket: bucket,
          Key: keyOf(name),
          Body: typeof body === 'function' ? body() : body,
          ChecksumAlgorithm: 'SHA256',
        },
        partSize: PART_BYTES,
        queueSize: PARTS_AT_ONCE,
      });
      const stop = () => void parts.abort();
      signal?.addEventListener('abort', stop, { once: true });
      try {
        signal?.throwIfAborted();
        await parts.done();
      } finally {
        signal?.removeEventListener('abort', stop);
      }
    });
  }

  async function refresh(name: string, bytes: Uint8Array): Promise<void> {
    for (let waits = LOCK_WAITS; waits > 0; waits--) {
      const stored = await head(name);
      if (stored === undefined) {
        if (await create(name, bytes)) return;
      } else if (Date.now() - stored.putAt > YOUNG_MS) await replace(name, bytes);
      const lock = await head(lockOf(name));
      if (lock === undefined) {
        if ((await head(name)) !== undefined) return;
      } else if (Date.now() - lock.putAt > LOCK_MS) await erase(lockOf(name));
      else await new Promise((resolve) => setTimeout(resolve, LOCK_WAIT_MS));
    }
    throw new ObjectsUnreachable(`${bucket}: another process is removing ${keyOf(name)}`);
  }

  const erase = (name: string) => attempt(() => client.send(new sdk.DeleteObjectCommand({ Bucket: bucket, Key: keyOf(name) })));

  async function* listBelow(folder: string): AsyncGenerator<StoredObject> {
    const root = prefix === '' ? '' : `${prefix}/`;
    let token: string | undefined;
    do {
      const page = await attempt(() =>
        client.send(new sdk.ListObjectsV2Command({ Bucket: bucket, Prefix: `${root}${folder}`, ContinuationToken: token })),
      );
      for (const { Key, Size, LastModified } of page.Contents ?? [])
        if (Key !== undefined && !Key.endsWith('/'))
          yield { name: Key.slice(root.length), bytes: Size ?? 0, putAt: LastModified?.getTime() ?? Date.now() };
      token = page.NextContinuationToken;
    } while (token !== undefined);
  }

  return {
    place: `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`,
    async check() {
      await attempt(() => client.send(new sdk.ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, MaxKeys: 1 })));
      isChecked = true;
    },
    async put(name, bytes, existing) {
      if (existing === 'replace') await replace(name, bytes);
      else if (!(await create(name, bytes))) await refresh(name, bytes);
    },
    async putFile(name, path, signal) {
      const { size } = await statFile(path);
      if (size > 0) await upload(name, () => createReadStream(path), signal);
      else await write(name, new Uint8Array(), {});
    },
    get: (name) =>
      present(async () => {
        const { Body } = await client.send(new sdk.GetObjectCommand({ Bucket: bucket, Key: keyOf(name) }));
        return Body?.transformToByteArray();
      }),
    read: (name, { from, until }) =>
      present(async () => {
        const Range = `bytes=${from}-${until - 1}`;
        const { Body } = await client.send(new sdk.GetObjectCommand({ Bucket: bucket, Key: keyOf(name), Range }));
        return Body as Readable | undefined; // in Node it is one
      }),
    stat: head,
    async remove(name, graceMs) {
      const isOld = (object: StoredObject | undefined) => object !== undefined && Date.now() - object.putAt >= graceMs;
      const stored = await head(name);
      if (stored === undefined) return true;
      if (!isOld(stored)) return false;
      if (!(await create(lockOf(name), new Uint8Array()))) {
        const lock = await head(lockOf(name));
        if (lock === undefined || Date.now() - lock.putAt < LOCK_MS) return false; // another process removes it
      }
      if (isOld(await head(name))) await erase(name); // if this fails, the lock stays: the request may still arrive
      await erase(lockOf(name));
      return (await head(name)) === undefined;
    },
    list: listBelow,
    async sweep(graceMs, mode) {
      const Prefix = keyOf('x').slice(0, -1);
      const { Uploads = [] } = await attempt(() => client.send(new sdk.ListMultipartUploadsCommand({ Bucket: bucket, Prefix })));
      const old = Uploads.filter(({ Initiated }) => Initiated !== undefined && Date.now() - Initiated.getTime() >= graceMs);
      if (mode === 'delete')
        for (const { Key, UploadId } of old)
          await attempt(() => client.send(new sdk.AbortMultipartUploadCommand({ Bucket: bucket, Key, UploadId })));
      return { files: old.length, bytes: 0 }; // the list does not say how many
    },
    async addressOf(name, forMs) {
      const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner');
      const read = new sdk.GetObjectCommand({ Bucket: bucket, Key: keyOf(name) });
      return new URL(await attempt(() => getSignedUrl(client, read, { expiresIn: Math.ceil(forMs / 1_000) })));
    },
    close: () => client.destroy(),
  };
}

function clientOptions({ endpoint, region, pathStyle, credentials }: Bucket): S3ClientConfig {
  return {
    ...(endpoint !== null && { endpoint }),
    // what is compatible takes any
    ...(region === null ? endpoint !== null && { region: 'us-east-1' } : { region }),
    ...(credentials !== null && {
      credentials: {
        accessKeyId: credentials.accessKeyId,
        secretAccessKey: credentials.secretAccessKey,
        ...(credentials.sessionToken !== null && { sessionToken: credentials.sessionToken }),
      },
    }),
    forcePathStyle: pathStyle,
    maxAttempts: TRIES,
    // Each put names its own; a trailer for others is unknown to some compatible stores.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED', // blobs are checked by their names
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      socketTimeout: IDLE_MS,
      httpAgent: { maxSockets: SOCKETS },
      httpsAgent: { maxSockets: SOCKETS },
    },
  };
}

/** A put on the condition that there is none found an object. */
class AlreadyStored extends Error {
  override readonly name = 'AlreadyStored';
}

/**
 * Turns what the SDK throws into the errors of the port. `present` takes a missing object for undefined. @param hadCredentials
 * whether a request was accepted before: if credentials are missing then, what hands them out is away.
 */
function faultsOf({ bucket, endpoint }: Pick<Bucket, 'bucket' | 'endpoint'>, hadCredentials: () => boolean) {
  const where = endpoint === null ? `the bucket ${bucket}` : `the bucket ${bucket} at ${new URL(endpoint).host}`;
  async function attempt<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw named(where, error, hadCredentials());
    }
  }
  async function present<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (statusOf(error) === 404 && ABSENT.has(codeOf(error))) return undefined;
      throw named(where, error, hadCredentials());
    }
  }
  return { attempt, present };
}

function named(where: string, error: unknown, hadCredentials: boolean): unknown {
  if (error instanceof ObjectsRefused || error instanceof ObjectsUnreachable) return error;
  const [code, status] = [codeOf(error), statusOf(error)];
  if (status === 412 || code === 'ConditionalRequestConflict') return new AlreadyStored(where);
  const refused = (step: ObjectsRefused['step'], remedy: string) =>
    new ObjectsRefused(step, `${where}: ${textOf(error)}; ${remedy}`, { cause: error });
  if (code === 'NoSuchBucket') return refused('bucket', 'create it, or correct ESPALIER_OBJECTS');
  if (code === 'AbortError') return error;
  if (REGION.has(code) || status === 301 || textOf(error).includes('Region is missing'))
    return refused('bucket', 'set AWS_REGION to the region of the bucket');
  if (CREDENTIALS.test(code))
    return refused('login', 'correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the files with them');
  const unreachable = () => new ObjectsUnreachable(`${where} does not respond: ${textOf(error)}`, { cause: error });
  if (INTERRUPTED.has(code) || (code === 'CredentialsProviderError' && hadCredentials)) return unreachable();
  if (code === 'CredentialsProviderError')
    return refused('login', 'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the process a profile or role');
  if (code === 'RequestTimeTooSkewed') return refused('login', 'set the clock of this machine');
  if (status === 401 || status === 403) return refused('request', `grant ${RIGHTS}`);
  if (status === 501 || status === 400) return refused('request', 'this store does not do what is needed of it');
  if (status === undefined || status >= 500 || status === 404 || status === 408 || status === 409 || status === 429)
    return isOwnError(error, status) ? error : unreachable();
  return error;
}

/** What an account needs on a bucket and the objects in it. */
export const RIGHTS =
  's3:ListBucket, s3:ListBucketMultipartUploads, s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload';

const REGION = new Set(['PermanentRedirect', 'AuthorizationHeaderMalformed', 'IllegalLocationConstraintException']);
const CREDENTIALS = /^(InvalidAccessKeyId|SignatureDoesNotMatch|(Expired|Invalid)Token(Exception)?|\w*UserNotFound)$/;
/** A request did not arrive whole: these have the status 400, as refusals do. */
const INTERRUPTED = new Set(['RequestTimeout', 'IncompleteBody']);
const ABSENT = new Set(['NoSuchKey', 'NotFound']);

/** An error of this program, and none of a connection: those have codes, or are those of the SDK. */
function isOwnError(error: unknown, status: number | undefined): boolean {
  if (status !== undefined) return false;
  if (error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError) return true;
  return codeOf(error) === 'ENOENT';
}

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  for (const field of ['Code', 'code', 'name'] as const)
    if (field in error && typeof (error as Record<string, unknown>)[field] === 'string')
      return String((error as Record<string, unknown>)[field]);
  return '';
}

function statusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('$metadata' in error)) return undefined;
  return (error.$metadata as { readonly httpStatusCode?: number } | undefined)?.httpStatusCode; // as the SDK has it
}

function textOf(error: unknown): string {
  const code = codeOf(error);
  const text = error instanceof Error ? error.message : String(error);
  return text === '' || text === code || text === 'UnknownError'
    ? code || 'no reason was given'
    : `${code} ${text}`.replace(/^(Error|\d+) /, '');
}
