import { readdir, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { BlobCorrupt, BlobMissing, isLostBlob, openBlobStore, placeOfDigest } from '../../blobs/blob-store.ts';
import { openFolderObjects } from '../../blobs/folder-objects.ts';
import { copyWhole, isMissing, writeSynced, writeWhole } from '../../blobs/whole-file.ts';
import { sha256Hex, sha256OfFile } from '../../digest/sha256.ts';
import { TOPICS } from '../../events/catalogue.ts';
import type { Offsets } from '../../log/event-log.ts';
import { formatPosition } from '../../log/position.ts';
import { CODE_VERSION } from '../../platform/code-version.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { installationIdentity } from '../../postgres/log-identity.ts';
import { tryOwnWork } from '../../postgres/own-work.ts';
import { dumpTablesBesideLog } from '../../postgres/tables-beside-log.ts';
import { readReferencedBlobs } from '../../projections/forgetting/read-blob-references.ts';
import { ProjectionsBehind, waitUntilProjected } from '../../projections/wait-until.ts';
import { forEachOf } from '../../runtime/limit.ts';
import { makeFolder } from '../../runtime/make-folder.ts';
import { decodeTorchCheckpoint } from '../../training/backends/torch/torch-checkpoint.ts';
import { torchFolder } from '../../training/backends/torch/torch-plan.ts';
import { readTorchVersions } from '../../training/backends/torch/torch-versions.ts';
import { createRelay } from '../../training/outbox/relay.ts';
import {
  type Backup,
  type BackupEntry,
  BackupUnusable,
  claimFolder,
  commitBackup,
  entryPath,
  noneIfMissing,
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
  /** Checkpoints that the record needs and that are not on this machine. Of an earlier backup they are kept. */
  readonly lostCheckpoints: number;
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
 * Projections must run meanwhile: what records refer to is read from the read models. Where they stay behind, all is kept that the
 * earlier backup holds.
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
  await claimFolder(folder, previous);
  await createRelay({ db, log }).flush();
  const takenAt = new Date().toISOString();
  const ends = await log.ends(TOPICS);
  const segments = await copyLog(log, folder, { previous, ends, signal, ...(progress ? { progress } : {}) });
  const from: CopyContext = { folder, previous, isFolded: await areFolded(platform, ends, signal), signal };
  const { blobs, lostBlobs } = await copyBlobs(platform, from);
  const { checkpoints, lostCheckpoints } = await copyCheckpoints(platform, from);
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
    lostBlobs,
    checkpoints: new Set(checkpoints.map(checkpointOf)).size,
    lostCheckpoints,
    streamKeys,
    openKeys,
    bytes: sum(entries.map(({ bytes }) => bytes)),
  };
}

const FOLD_MS = 60_000;

async function areFolded({ database }: Platform, ends: Offsets, signal: AbortSignal): Promise<boolean> {
  try {
    await waitUntilProjected(database.db, ends, { timeoutMs: FOLD_MS, signal });
    return true;
  } catch (error) {
    if (error instanceof ProjectionsBehind) return false;
    throw error;
  }
}

interface CopyContext {
  readonly folder: string;
  readonly previous: Backup | null;
  /** Whether the read models know all that the copied records refer to. */
  readonly isFolded: boolean;
  readonly signal: AbortSignal;
}

const COPIES = 8; // at once
type BlobEntry = Extract<BackupEntry, { kind: 'blob' }>;

/** Copies the blobs that the backup lacks. One that is gone from the store stays in the backup while a record refers to it. */
async function copyBlobs(
  { blobs, objects, database: { db } }: Platform,
  { folder, previous, isFolded, signal }: CopyContext,
): Promise<{ readonly blobs: readonly BlobEntry[]; readonly lostBlobs: number }> {
  const target = openBlobStore(openFolderObjects(join(folder, 'blobs')));
  const before = new Map((previous?.entries ?? []).flatMap((entry) => (entry.kind === 'blob' ? [[entry.sha256, entry]] : [])));
  const entries = new Map<string, BlobEntry>();
  const damaged = new Set<string>();
  const copy = async (sha256: string): Promise<void> => {
    signal.throwIfAborted();
    try {
      const bytes =
        (await sizeOfFile(join(folder, 'blobs', placeOfDigest(sha256)))) ?? (await target.put(await blobs.get(sha256), '')).size;
      entries.set(sha256, { kind: 'blob', sha256, bytes });
    } catch (error) {
      if (error instanceof BlobCorrupt) damaged.add(sha256);
      else if (!(error instanceof BlobMissing)) throw error; // it was collected meanwhile
    }
  };
  const fresh: string[] = [];
  for await (const { name: sha256 } of openBlobStore(objects).list()) {
    const entry = before.get(sha256);
    if (entry) entries.set(sha256, entry);
    else fresh.push(sha256);
  }
  await forEachOf(fresh, COPIES, copy);
  const isCopied = (sha256: string) => entries.has(sha256) || damaged.has(sha256);
  const absent: string[] = [];
  await forEachOf(
    [...(await readReferencedBlobs(db))].filter((sha256) => !isCopied(sha256)),
    COPIES,
    async (sha256) => {
      signal.throwIfAborted();
      if (await blobs.has(sha256))
        await copy(sha256); // it was stored after the list was read
      else absent.push(sha256);
    },
  );
  // what was forgotten meanwhile is no loss
  const referenced: ReadonlySet<string> = absent.length > 0 ? await readReferencedBlobs(db) : new Set();
  const lost = new Set(absent.filter((sha256) => referenced.has(sha256)));
  for (const [sha256, entry] of before) if (!isCopied(sha256) && (!isFolded || lost.has(sha256))) entries.set(sha256, entry);
  return { blobs: [...entries.values()], lostBlobs: lost.size + damaged.size };
}

type CheckpointEntry = Extract<BackupEntry, { kind: 'checkpoint' }>;

/**
 * Copies the files of checkpoints, which never change, from this machine; a folder that is removed meanwhile is left out. One that
 * is not here stays in the backup while the record needs it.
 */
async function copyCheckpoints(
  platform: Platform,
  { folder, previous, isFolded, signal }: CopyContext,
): Promise<{ readonly checkpoints: readonly CheckpointEntry[]; readonly lostCheckpoints: number }> {
  const source = torchFolder(platform.config);
  const before = new Map(
    (previous?.entries ?? []).flatMap((entry) => (entry.kind === 'checkpoint' ? [[entry.name, entry]] : [])),
  );
  const needed = await neededCheckpoints(platform);
  const copied = new Set<string>();
  const checkpoints: CheckpointEntry[] = [];
  for (const checkpoint of await readdir(source).catch(noneIfMissing)) {
    if (!/^[0-9a-f]{64}$/.test(checkpoint)) continue; // being written
    const files: CheckpointEntry[] = [];
    try {
      for (const file of await readdir(join(source, checkpoint), { recursive: true, withFileTypes: true })) {
        if (!file.isFile()) continue;
        signal.throwIfAborted();
        const path = join(file.parentPath, file.name);
        const name = relative(source, path).split(sep).join('/');
        files.push(before.get(name) ?? { kind: 'checkpoint', name, ...(await copyLarge(path, folder)) });
      }
    } catch (error) {
      if (!isMissing(error)) throw error;
      continue;
    }
    copied.add(checkpoint);
    for (const entry of files) checkpoints.push(entry);
  }
  const still = await neededCheckpoints(platform); // what is needed no more may have been removed meanwhile
  for (const entry of before.values()) {
    const checkpoint = checkpointOf(entry);
    const isNeeded = !isFolded || !still.isComplete || still.names.has(checkpoint);
    if (!copied.has(checkpoint) && isNeeded) checkpoints.push(entry);
  }
  const lost = [...needed.names].filter((name) => still.names.has(name) && !copied.has(name));
  return { checkpoints, lostCheckpoints: lost.length };
}

function checkpointOf({ name }: CheckpointEntry): string {
  return name.slice(0, 64);
}

/** Reads the checkpoints that the record needs; not complete where the manifest of one is lost. */
async function neededCheckpoints({
  database,
  blobs,
  config,
}: Platform): Promise<{ readonly names: ReadonlySet<string>; readonly isComplete: boolean }> {
  const names = new Set<string>();
  let isComplete = true;
  for (const { blob, stays } of await readTorchVersions(database.db, config.torchCheckpoints)) {
    if (!stays) continue;
    try {
      names.add(decodeTorchCheckpoint(await blobs.get(blob)).checkpoint);
    } catch (error) {
      if (!isLostBlob(error)) throw error;
      isComplete = false;
    }
  }
  return { names, isComplete };
}

/** Copies a file that may be larger than the memory to the place of its digest. */
async function copyLarge(source: string, folder: string): Promise<{ readonly sha256: string; readonly bytes: number }> {
  const sha256 = await sha256OfFile(source);
  const { size: bytes } = await stat(source);
  const place = join(folder, 'checkpoints', placeOfDigest(sha256));
  if ((await sizeOfFile(place)) !== bytes) await copyWhole(source, place);
  return { sha256, bytes };
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
