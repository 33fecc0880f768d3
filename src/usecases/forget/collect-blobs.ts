import { rm } from 'node:fs/promises';
import { listOldFiles, openFileBlobStore } from '../../blobs/file-blob-store.ts';
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
  const { database, log, config } = platform;
  const others = platform.mode.database === 'embedded' ? await siblingsWithRecords(platform.databaseUrl) : [];
  if (others.length > 0)
    throw new CannotCollect(
      `the folder of blobs is shared with other records, of the databases ${others.join(', ')}; give each a folder of its own (ESPALIER_BLOBS) before blobs are collected`,
    );
  const { blobs, drafts, young } = await listOldFiles(config.blobs, graceMs);
  const waiting = await readWaitingBlobs(database.db);
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: 300_000, signal });
  const referenced = await readReferencedBlobs(database.db);
  const unreferenced = blobs.filter(({ name }) => !referenced.has(name) && !waiting.has(name));
  let deleted = 0;
  if (mode === 'delete') {
    const store = openFileBlobStore(config.blobs);
    for (const { name } of unreferenced) {
      signal.throwIfAborted();
      if (await store.remove(name, graceMs)) deleted++;
    }
    for (const { name } of drafts) await rm(name, { force: true });
  }
  const bytesOf = (files: readonly { readonly bytes: number }[]) => files.reduce((sum, { bytes }) => sum + bytes, 0);
  return {
    looked: blobs.length,
    young,
    deleted,
    unreferenced: { blobs: unreferenced.length, bytes: bytesOf(unreferenced) },
    drafts: { files: drafts.length, bytes: bytesOf(drafts) },
  };
}
