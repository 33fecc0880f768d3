import { openBlobStore } from '../../blobs/blob-store.ts';
import type { StoredObject } from '../../blobs/object-store.ts';
import { TOPICS } from '../../events/catalogue.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { siblingsWithRecords } from '../../postgres/sibling-database.ts';
import { readReferencedBlobs, readWaitingBlobs } from '../../projections/forgetting/read-blob-references.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';

/** The blobs cannot be collected: other records may refer to them. */
export class CannotCollect extends Error {
  override readonly name = 'CannotCollect';
}

export interface CollectedBlobs {
  /** Files that nobody put for long enough, and how many are left since somebody did. */
  readonly looked: number;
  readonly young: number;
  /** What no record refers to, and what puts that were killed left behind. */
  readonly unreferenced: { readonly blobs: number; readonly bytes: number };
  readonly drafts: { readonly files: number; readonly bytes: number };
  /** Blobs that are deleted; fewer than unreferenced where one was put again meanwhile. */
  readonly deleted: number;
}

/**
 * Deletes the blobs that no record refers to and that nobody put within `graceMs`: the append of an event that names one may take
 * that long. References are read from the outbox, then from all that lay in the log after the blobs were listed; a blob that is
 * put meanwhile stays. The read models must be projected meanwhile. @throws CannotCollect, ProjectionsBehind.
 */
export async function collectBlobs(
  platform: Platform,
  { graceMs, mode, signal }: { readonly graceMs: number; readonly mode: 'delete' | 'count'; readonly signal: AbortSignal },
): Promise<CollectedBlobs> {
  const { database, log, objects } = platform;
  const blobs = openBlobStore(objects);
  const others = platform.mode.database === 'embedded' ? await siblingsWithRecords(platform.databaseUrl) : [];
  if (others.length > 0)
    throw new CannotCollect(
      `the folder of blobs is shared with other records, of the databases ${others.join(', ')}; give each a folder of its own (ESPALIER_BLOBS) before blobs are collected`,
    );
  const old: StoredObject[] = [];
  let young = 0;
  for await (const blob of blobs.list())
    if (Date.now() - blob.putAt < graceMs) young++;
    else old.push(blob);
  const waiting = await readWaitingBlobs(database.db);
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: 300_000, signal });
  const referenced = await readReferencedBlobs(database.db);
  const unreferenced = old.filter(({ name }) => !referenced.has(name) && !waiting.has(name));
  let deleted = 0;
  if (mode === 'delete') {
    for (const { name } of unreferenced) {
      signal.throwIfAborted();
      if (await blobs.remove(name, graceMs)) deleted++;
    }
  }
  const drafts = await objects.sweep(graceMs, mode);
  return {
    looked: old.length,
    young,
    deleted,
    unreferenced: { blobs: unreferenced.length, bytes: unreferenced.reduce((sum, { bytes }) => sum + bytes, 0) },
    drafts,
  };
}
