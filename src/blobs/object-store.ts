import type { Readable } from 'node:stream';

/** An object as a store lists it. */
export interface StoredObject {
  readonly name: string;
  readonly bytes: number;
  /** When it was put last, ms since 1970, by the clock of the store. */
  readonly putAt: number;
}

/**
 * Named bytes, in a folder or in a bucket, which processes of several machines may share. An object is whole or absent, and
 * durable when its put returns. A name is a path of `[A-Za-z0-9._-]`. Every function throws ObjectsUnreachable and ObjectsRefused
 * of a bucket, and what node:fs throws of a folder.
 */
export interface ObjectStore {
  /** For people: a folder, or `s3://bucket/prefix`. */
  readonly place: string;
  /** Makes sure that the place can be used. */
  check(): Promise<void>;
  /** @param existing `keep` where an object of this name has the same content: it then counts as put now, and is not sent again while it is young. */
  put(name: string, bytes: Uint8Array, existing: 'keep' | 'replace'): Promise<void>;
  /** Stores a file of this machine, which is not changed any more, in place of what has the name; a large one in parts. */
  putFile(name: string, path: string, signal?: AbortSignal): Promise<void>;
  get(name: string): Promise<Uint8Array | undefined>;
  /** Opens the bytes from `from` up to `until`, at least one. */
  read(name: string, range: { readonly from: number; readonly until: number }): Promise<Readable | undefined>;
  stat(name: string): Promise<StoredObject | undefined>;
  /** Deletes an object that no process put within the last `graceMs`; returns whether it is gone. A put that runs meanwhile wins. */
  remove(name: string, graceMs: number): Promise<boolean>;
  /** Lists the objects of a folder of names such as `ab/`, in no order. */
  list(folder: string): AsyncIterable<StoredObject>;
  /** Counts what puts that were killed left more than `graceMs` ago, and deletes it. */
  sweep(graceMs: number, mode: 'delete' | 'count'): Promise<{ readonly files: number; readonly bytes: number }>;
  /** Returns an address from which anybody may read the object for a while; null where the store has none. */
  addressOf(name: string, forMs: number): Promise<URL | null>;
  close(): void;
}

/** The store does not respond, or is overloaded; retryable. */
export class ObjectsUnreachable extends Error {
  override readonly name = 'ObjectsUnreachable';
}

/** The store refuses what is asked of it: credentials, bucket, region or rights are wrong. */
export class ObjectsRefused extends Error {
  override readonly name = 'ObjectsRefused';
  /** What was refused: who asks, the bucket that is asked for, or what is asked of it. */
  readonly step: 'login' | 'bucket' | 'request';
  constructor(step: ObjectsRefused['step'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.step = step;
  }
}

const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;

/** Returns a name that stays below the root of its store. @throws RangeError. */
export function objectName(name: string): string {
  if (!NAME.test(name)) throw new RangeError(`${JSON.stringify(name.slice(0, 80))} is no name of an object`);
  return name;
}
