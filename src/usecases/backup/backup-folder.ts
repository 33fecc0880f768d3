import { chmod, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { z } from 'zod';
import { placeOfDigest } from '../../blobs/blob-store.ts';
import { isMissing, writeSynced, writeWhole } from '../../blobs/whole-file.ts';
import { sha256Hex, sha256OfFile } from '../../digest/sha256.ts';
import { TOPICS } from '../../events/catalogue.ts';
import type { Offsets } from '../../log/event-log.ts';
import { parsePosition } from '../../log/position.ts';
import { TABLES_BESIDE_LOG } from '../../postgres/tables-beside-log.ts';
import { forEachOf } from '../../runtime/limit.ts';

const FORMAT = 'espalier-backup/1';
const MANIFEST = 'manifest.json';
/** Written first, and removed by the end: a folder without a manifest is a backup's by it. */
const MARKER = 'backup-begun';
export const OWNER_ONLY = 0o600;

const digest = z.string().regex(/^[0-9a-f]{64}$/);
/** A file below the folder of checkpoints; it stays there wherever it is restored. */
const checkpointFile = z.string().refine((name) => {
  const [checkpoint, ...path] = name.split('/');
  const isPart = (part: string) => part !== '' && part !== '.' && part !== '..' && !part.includes('\0');
  return digest.safeParse(checkpoint).success && path.length > 0 && path.every(isPart);
}, 'names no file of a checkpoint');
const count = z.int().min(0);
const file = { sha256: digest, bytes: count };

/** A file of a backup, named by its digest: one that was written never changes. */
const entrySchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('segment'),
    topic: z.string(),
    partition: count,
    from: count,
    to: count,
    records: count,
    /** The last record, by which the next backup sees that the log is still this one; null where there is none. */
    last: z.strictObject({ offset: count, sha256: digest }).nullable(),
    ...file,
  }),
  z.strictObject({ kind: z.literal('blob'), ...file }),
  /** A file of a checkpoint of a language model, by its name below the folder of checkpoints. */
  z.strictObject({ kind: z.literal('checkpoint'), name: checkpointFile, ...file }),
  z.strictObject({ kind: z.literal('table'), table: z.enum(TABLES_BESIDE_LOG), rows: count, ...file }),
]);
export type BackupEntry = z.infer<typeof entrySchema>;
export type SegmentEntry = Extract<BackupEntry, { kind: 'segment' }>;

const manifestSchema = z.strictObject({
  format: z.literal(FORMAT),
  takenAt: z.iso.datetime(),
  codeVersion: z.string(),
  /** The installation that was backed up, and its log. */
  installation: z.uuid(),
  log: z.string(),
  /** Every partition with its end: what the backup holds of the log lies below. */
  position: z.string(),
  records: count,
  /** The list of all other files. */
  files: digest,
});
export type BackupManifest = z.infer<typeof manifestSchema>;

export interface Backup {
  readonly folder: string;
  readonly manifest: BackupManifest;
  /** SHA-256 of the manifest, which names the backup. */
  readonly sha256: string;
  readonly position: Offsets;
  readonly entries: readonly BackupEntry[];
}

/** A folder holds no backup that can be used: it is damaged, incomplete, or of a later version. */
export class BackupUnusable extends Error {
  override readonly name = 'BackupUnusable';
}

/** Reads the backup of a folder that must hold one. @throws BackupUnusable. */
export async function openBackup(folder: string): Promise<Backup> {
  const backup = await readBackup(folder);
  if (backup) return backup;
  throw new BackupUnusable(`${folder} holds no backup: there is no ${MANIFEST}; name a folder that \`espalier backup\` wrote`);
}

/** Reads the backup of a folder; null where there is none. @throws BackupUnusable. */
export async function readBackup(folder: string): Promise<Backup | null> {
  const bytes = await readIfThere(join(folder, MANIFEST));
  if (!bytes) return null;
  const manifest = parseManifest(folder, bytes.toString('utf8'));
  const list = await readIfThere(listPath(folder, manifest.files));
  if (!list || sha256Hex(list) !== manifest.files)
    throw damaged(folder, `${relative(folder, listPath(folder, manifest.files))} ${list ? 'was changed' : 'is missing'}`);
  const lines = (await promisify(gunzip)(list)).toString('utf8').split('\n').slice(0, -1);
  const entries = lines.map((line) => entrySchema.parse(JSON.parse(line)));
  return { folder, manifest, sha256: sha256Hex(bytes), position: parsePosition(manifest.position), entries };
}

function parseManifest(folder: string, text: string): BackupManifest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw damaged(folder, `${MANIFEST} is no JSON`);
  }
  const format = z.object({ format: z.string(), codeVersion: z.string() }).safeParse(value);
  if (format.success && format.data.format !== FORMAT)
    throw new BackupUnusable(
      `the backup in ${folder} has the format ${format.data.format} of Espalier ${format.data.codeVersion}, and this version reads ${FORMAT}: use that version`,
    );
  const parsed = manifestSchema.safeParse(value);
  if (!parsed.success) throw damaged(folder, `${MANIFEST}: ${z.prettifyError(parsed.error)}`);
  const topics: readonly string[] = TOPICS;
  const unknown = [...parsePosition(parsed.data.position).keys()].filter((topic) => !topics.includes(topic));
  if (unknown.length > 0)
    throw new BackupUnusable(
      `the backup in ${folder} holds the topics ${unknown.join(', ')}, which this version does not know; use Espalier ${parsed.data.codeVersion}`,
    );
  return parsed.data;
}

/**
 * Writes list and manifest; the backup is the new one from the moment when the manifest is replaced. @throws ZodError for an entry
 * that could not be read again.
 */
export async function commitBackup(
  folder: string,
  manifest: Omit<BackupManifest, 'format' | 'files'>,
  entries: readonly BackupEntry[],
): Promise<void> {
  const list = await promisify(gzip)(entries.map((entry) => `${JSON.stringify(entrySchema.parse(entry))}\n`).join(''));
  const files = sha256Hex(list);
  await writeWhole(listPath(folder, files), (draft) => writeSynced(draft, list));
  const whole: BackupManifest = { format: FORMAT, ...manifest, files };
  await writeWhole(join(folder, MANIFEST), (draft) => writeSynced(draft, Buffer.from(`${JSON.stringify(whole, null, 2)}\n`)));
  await removeOthers(folder, new Set([MANIFEST, relative(folder, listPath(folder, files)), ...entries.map(entryPath)]));
}

const FOLDERS = ['log', 'blobs', 'checkpoints', 'tables'];
/** The files that a backup writes, and their drafts. */
const OWN = new RegExp(
  `^(${[
    'manifest\\.json',
    MARKER,
    'files-[0-9a-f]{64}\\.gz',
    'log/[\\w.-]+/\\d+/\\d+-\\d+-[0-9a-f]{64}\\.gz',
    '(blobs|checkpoints)/[0-9a-f]{2}/[0-9a-f]{2}/[0-9a-f]{64}',
    'tables/\\w+-[0-9a-f]{64}\\.gz',
  ].join('|')})(\\.[0-9a-f]{12})?$`,
);

/**
 * Refuses a folder that is not empty and that no backup began, and one that holds other files, which a backup would be mixed with.
 * @throws BackupUnusable.
 */
export async function refuseForeignFiles(folder: string): Promise<void> {
  const names = await readdir(folder);
  const isBackup = names.some((name) => name === MANIFEST || name.startsWith(MARKER));
  const foreign = names.find((name) => !isBackup || (!FOLDERS.includes(name) && !OWN.test(name)));
  if (foreign !== undefined)
    throw new BackupUnusable(`${folder} holds files that belong to no backup, such as ${foreign}; name an empty folder`);
}

/** Makes a folder that holds nothing else the backup's: only its owner can read it, and it is known for one until its manifest is there. */
export async function claimFolder(folder: string, previous: Backup | null): Promise<void> {
  await chmod(folder, 0o700);
  if (previous === null) await writeWhole(join(folder, MARKER), (draft) => writeSynced(draft, Buffer.from(`${FORMAT}\n`)));
}

/** Removes what the backup does not name: earlier keys, payload that was forgotten since, and what killed backups left. */
async function removeOthers(folder: string, named: ReadonlySet<string>): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = relative(folder, join(entry.parentPath, entry.name));
    if (entry.isFile() && OWN.test(path) && !named.has(path)) await rm(join(folder, path), { force: true });
  }
}

function listPath(folder: string, sha256: string): string {
  return join(folder, `files-${sha256}.gz`);
}

/** Returns the path of a file below the folder of its backup. */
export function entryPath(entry: BackupEntry): string {
  switch (entry.kind) {
    case 'segment':
      return `${partitionPath(entry.topic, entry.partition)}/${entry.from}-${entry.to}-${entry.sha256}.gz`;
    case 'blob':
      return join('blobs', placeOfDigest(entry.sha256));
    case 'checkpoint':
      return join('checkpoints', placeOfDigest(entry.sha256));
    case 'table':
      return `tables/${entry.table}-${entry.sha256}.gz`;
    default:
      return entry satisfies never;
  }
}

export function partitionPath(topic: string, partition: number): string {
  return `log/${topic}/${partition}`;
}

/** Returns the segments of a backup by `topic.partition`, in order. */
export function segmentsByPlace(entries: readonly BackupEntry[]): ReadonlyMap<string, readonly SegmentEntry[]> {
  const places = new Map<string, SegmentEntry[]>();
  for (const entry of entries) {
    if (entry.kind !== 'segment') continue;
    const place = `${entry.topic}.${entry.partition}`;
    const segments = places.get(place);
    if (segments) segments.push(entry);
    else places.set(place, [entry]);
  }
  for (const segments of places.values()) segments.sort((a, b) => a.from - b.from);
  return places;
}

const READS = 8;
const NAMED = 5;

/**
 * Compares every file of a backup with its digest, and the segments with the position. @throws BackupUnusable that names the
 * files which are missing or were changed.
 */
export async function checkBackup(backup: Backup, signal: AbortSignal, progress?: (files: number) => void): Promise<void> {
  const { folder, entries, position } = backup;
  const faults: string[] = [];
  let checked = 0;
  await forEachOf(entries, READS, async (entry) => {
    signal.throwIfAborted();
    const path = entryPath(entry);
    const sha256 = await sha256OfFile(join(folder, path)).catch((error: unknown) => {
      if (isMissing(error)) return null;
      throw error;
    });
    if (sha256 !== entry.sha256) faults.push(`${path} ${sha256 === null ? 'is missing' : 'was changed'}`);
    progress?.(++checked);
  });
  const segments = segmentsByPlace(entries);
  for (const [topic, partitions] of position)
    for (const [partition, end] of partitions) {
      let next = 0;
      for (const { from, to } of segments.get(`${topic}.${partition}`) ?? []) if (from === next) next = to;
      if (next !== end) faults.push(`the segments of ${topic}.${partition} end at ${next}, the backup at ${end}`);
    }
  if (faults.length === 0) return;
  const more = faults.length > NAMED ? `; ${faults.length - NAMED} more` : '';
  throw damaged(folder, `${faults.sort().slice(0, NAMED).join('; ')}${more}`);
}

function damaged(folder: string, how: string): BackupUnusable {
  return new BackupUnusable(`the backup in ${folder} is damaged: ${how}; nothing was restored from it: use another copy of it`);
}

/** Returns the size of a file; null where there is none. */
export async function sizeOfFile(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

async function readIfThere(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** Stands for the names in a folder that is missing. @throws any other fault of reading one. */
export function noneIfMissing(error: unknown): string[] {
  if (isMissing(error)) return [];
  throw error;
}
