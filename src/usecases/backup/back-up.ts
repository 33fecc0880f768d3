import { copyFile, open, readdir, rename, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { BlobCorrupt, BlobMissing, openBlobStore, placeOfDigest } from '../../blobs/blob-store.ts';
import { openFolderObjects } from '../../blobs/folder-objects.ts';
import { isMissing, writeSynced, writeWhole } from '../../blobs/whole-file.ts';
import { sha256Hex, sha256OfFile } from '../../digest/sha256.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import { formatPosition } from '../../log/position.ts';
import { CODE_VERSION } from '../../platform/code-version.ts';
import { makeFolder } from '../../runtime/make-folder.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { installationIdentity } from '../../postgres/log-identity.ts';
import { tryOwnWork } from '../../postgres/own-work.ts';
import { dumpTablesBesideLog } from '../../postgres/tables-beside-log.ts';
import { readReferencedBlobs } from '../../projections/forgetting/read-blob-references.ts';
import { limitOf } from '../../runtime/limit.ts';
import { torchFolder } from '../../training/backends/torch/torch-plan.ts';
import { createRelay } from '../../training/outbox/relay.ts';
import {
  type Backup,
  type BackupEntry,
  BackupUnusable,
  commitBackup,
  entryPath,
  OWNER_ONLY,
  readBackup,
  refuseForeignFiles,
  sizeOfFile,
} from './backup-folder.ts';
import { copyLog, type LogProgress } from './copy-log.ts';

export interface BackupReport {
  readonly position: string;
  /** Records of the log in the backup, and those that the folder did not hold before. */
  readonly records: number;
  readonly added: number;
  readonly blobs: number;
  /** Blobs that the record refers to and that are gone from the store, or damaged there. Of an earlier backup they are kept. */
  readonly lostBlobs: number;
  readonly checkpoints: number;
  /** Keys that open sealed payload, and how many of them lie in the backup as they are: no master key encrypts them. */
  readonly streamKeys: number;
  readonly openKeys: number;
  /** Bytes of all files. */
  readonly bytes: number;
}

/** A backup cannot be taken now. */
export class CannotBackUp extends Error {
  override readonly name = 'CannotBackUp';
}

/**
 * Backs an installation up into a folder while it works: the log up to its ends at the start, what the records below refer to, and
 * the tables that are not folded from the log. A folder that holds an earlier backup of the installation gets what is new; that
 * one stays valid until the last moment. What a backup that was killed has written is used by the next one.
 *
 * The order makes it consistent: what the lease service decided is appended first, then the ends are read. A blob is stored, and a
 * key made, before the event that needs it is appended; so blobs are listed after the ends, and keys are read last, since payload
 * whose key is destroyed loses its blobs after that.
 * @throws BackupUnusable, CannotBackUp; what node:fs throws when the folder cannot be written.
 */
export async function backUp(
  platform: Platform,
  folder: string,
  options: { readonly signal: AbortSignal; readonly progress?: LogProgress },
): Promise<BackupReport> {
  const done = await tryOwnWork(platform.database.db, 'backup', () => takeOrExplain(platform, folder, options));
  if (done.kind === 'busy') throw new CannotBackUp('another backup of this installation is under way; wait for its end');
  return done.result;
}

const UNWRITABLE = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EIO']);

async function takeOrExplain(...[platform, folder, options]: Parameters<typeof backUp>): Promise<BackupReport> {
  try {
    await makeFolder(folder, 0o700);
    await refuseForeignFiles(folder);
    return await take(platform, folder, options);
  } catch (error) {
    const { code, path } = Object(error) as { readonly code?: unknown; readonly path?: unknown };
    if (!UNWRITABLE.has(String(code))) throw error;
    throw new CannotBackUp(
      `cannot write the backup: ${String(code)} at ${String(path ?? folder)}; an earlier backup in ${folder} is still whole; make room or give access, and run the command again, which continues`,
      { cause: error },
    );
  }
}

async function take(
  platform: Platform,
  folder: string,
  { signal, progress }: { readonly signal: AbortSignal; readonly progress?: LogProgress },
): Promise<BackupReport> {
  const { log, database } = platform;
  const { db } = database;
  const previous = await readBackup(folder);
  const installation = await installationIdentity(db);
  if (previous && previous.manifest.installation !== installation)
    throw new BackupUnusable(
      `${folder} holds a backup of another installation (${previous.manifest.installation}); name another folder`,
    );
  await createRelay({ db, log }).flush();
  const takenAt = new Date().toISOString();
  const ends = await log.ends(TOPICS);
  const segments = await copyLog(log, folder, { previous, ends, signal, ...(progress ? { progress } : {}) });
  const { blobs, lost } = await copyBlobs(platform, folder, previous, signal);
  const checkpoints = await copyCheckpoints(torchFolder(platform.config), folder, previous, signal);
  const { tables, streamKeys, openKeys } = await copyTables(platform, folder);
  const entries: readonly BackupEntry[] = [...segments, ...blobs, ...checkpoints, ...tables];
  const sum = (of: readonly number[]) => of.reduce((total, each) => total + each, 0);
  const records = sum(segments.map((segment) => segment.records));
  const position = formatPosition(ends);
  signal.throwIfAborted();
  await commitBackup(
    folder,
    { takenAt, codeVersion: CODE_VERSION, installation, log: await log.identity(), position, records },
    entries,
  );
  return {
    position,
    records,
    added: records - (previous?.manifest.records ?? 0),
    blobs: blobs.length,
    lostBlobs: lost,
    checkpoints: new Set(checkpoints.map(({ name }) => name.split('/')[0])).size,
    streamKeys,
    openKeys,
    bytes: sum(entries.map(({ bytes }) => bytes)),
  };
}

const COPIES = 8; // at once
type BlobEntry = Extract<BackupEntry, { kind: 'blob' }>;

/** Copies the blobs that the backup lacks. One that is gone from the store stays in the backup while a record refers to it. */
async function copyBlobs(
  { blobs, objects, database }: Platform,
  folder: string,
  previous: Backup | null,
  signal: AbortSignal,
): Promise<{ readonly blobs: readonly BlobEntry[]; readonly lost: number }> {
  const target = openBlobStore(openFolderObjects(join(folder, 'blobs')));
  const before = new Map((previous?.entries ?? []).flatMap((entry) => (entry.kind === 'blob' ? [[entry.sha256, entry]] : [])));
  const entries: BlobEntry[] = [];
  const missing = new Set(before.keys());
  const atOnce = limitOf(COPIES);
  const fresh: string[] = [];
  let lost = 0;
  const copy = async (sha256: string): Promise<void> => {
    signal.throwIfAborted();
    try {
      const bytes =
        (await sizeOfFile(join(folder, 'blobs', placeOfDigest(sha256)))) ?? (await target.put(await blobs.get(sha256), '')).size;
      entries.push({ kind: 'blob', sha256, bytes });
    } catch (error) {
      if (error instanceof BlobCorrupt) lost++;
      else if (!(error instanceof BlobMissing)) throw error; // it was collected meanwhile
    }
  };
  for await (const { name: sha256 } of openBlobStore(objects).list()) {
    missing.delete(sha256);
    const entry = before.get(sha256);
    if (entry) entries.push(entry);
    else fresh.push(sha256);
  }
  await Promise.all(fresh.map((sha256) => atOnce(() => copy(sha256))));
  if (missing.size > 0) {
    const referenced = await readReferencedBlobs(database.db);
    const kept = [...before.values()].filter(({ sha256 }) => missing.has(sha256) && referenced.has(sha256));
    for (const entry of kept) entries.push(entry);
    lost += kept.length;
  }
  return { blobs: entries, lost };
}

type CheckpointEntry = Extract<BackupEntry, { kind: 'checkpoint' }>;

/** Copies the files of checkpoints, which never change; a folder that is removed meanwhile is left out. */
async function copyCheckpoints(
  source: string,
  folder: string,
  previous: Backup | null,
  signal: AbortSignal,
): Promise<readonly CheckpointEntry[]> {
  const before = new Map(
    (previous?.entries ?? []).flatMap((entry) => (entry.kind === 'checkpoint' ? [[entry.name, entry]] : [])),
  );
  const entries: CheckpointEntry[] = [];
  for (const checkpoint of await readdir(source).catch(() => [])) {
    if (!/^[0-9a-f]{64}$/.test(checkpoint)) continue; // being written
    const copied: CheckpointEntry[] = [];
    try {
      for (const file of await readdir(join(source, checkpoint), { recursive: true, withFileTypes: true })) {
        if (!file.isFile()) continue;
        signal.throwIfAborted();
        const path = join(file.parentPath, file.name);
        const name = relative(source, path);
        copied.push(before.get(name) ?? { kind: 'checkpoint', name, ...(await copyLarge(path, folder)) });
      }
    } catch (error) {
      if (!isMissing(error)) throw error;
      continue;
    }
    for (const entry of copied) entries.push(entry);
  }
  return entries;
}

/** Copies a file that may be larger than the memory to the place of its digest. */
async function copyLarge(source: string, folder: string): Promise<{ readonly sha256: string; readonly bytes: number }> {
  const draft = join(folder, 'checkpoints', newId());
  await makeFolder(join(folder, 'checkpoints'));
  try {
    await copyFile(source, draft);
    const sha256 = await sha256OfFile(draft);
    const place = join(folder, 'checkpoints', placeOfDigest(sha256));
    await makeFolder(join(place, '..'));
    const handle = await open(draft, 'r+');
    const { size: bytes } = await handle.stat();
    await handle.sync().finally(() => handle.close());
    await rename(draft, place);
    return { sha256, bytes };
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

type TableEntry = Extract<BackupEntry, { kind: 'table' }>;

async function copyTables(
  { database }: Platform,
  folder: string,
): Promise<{ readonly tables: readonly TableEntry[]; readonly streamKeys: number; readonly openKeys: number }> {
  const dumped = new Map<TableEntry['table'], { rows: number; readonly parts: Buffer[] }>();
  let [streamKeys, openKeys] = [0, 0];
  await dumpTablesBesideLog(database.db, async (table, rows) => {
    const dump = dumped.get(table) ?? { rows: 0, parts: [] };
    dumped.set(table, dump);
    dump.rows += rows.length;
    dump.parts.push(await promisify(gzip)(rows.map((row) => `${row}\n`).join('')));
    if (table !== 'stream_keys') return;
    for (const row of rows) {
      const { secret, wrapped_by: wrappedBy } = JSON.parse(row) as { readonly secret: unknown; readonly wrapped_by: unknown };
      if (secret === null) continue;
      streamKeys++;
      if (wrappedBy === null) openKeys++;
    }
  });
  const tables: TableEntry[] = [];
  for (const [table, { rows, parts }] of dumped) {
    const bytes = Buffer.concat(parts);
    const entry: TableEntry = { kind: 'table', table, rows, sha256: sha256Hex(bytes), bytes: bytes.byteLength };
    await writeWhole(join(folder, entryPath(entry)), (draft) => writeSynced(draft, bytes, OWNER_ONLY));
    tables.push(entry);
  }
  return { tables, streamKeys, openKeys };
}
