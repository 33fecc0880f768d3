import { readFile } from 'node:fs/promises';
import { sha256OfFile } from '../../digest/sha256.ts';
import { isObject } from '../../domain/text/parse-json.ts';
import { canonicalJson } from '../../events/canonical-json.ts';
import type { DataOf } from '../../events/catalogue.ts';
import { decode } from '../../events/codec.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { readBodiesOfType } from '../../projections/journal/read-bodies.ts';
import { fileOfManifest, manifestPath } from '../datasets/export/manifest.ts';
import { manifestOf } from '../datasets/release/release-dataset.ts';
import type { Fault } from './verification.ts';

type Release = DataOf<'DatasetReleased'>;

/**
 * Compares files with the datasets that were released: the digest must be one of theirs, and the manifest next to a file, where
 * there is one, must say what the release says. The name of a manifest stands for its file, and then it must be there. Returns
 * how many files there are, each counted once.
 */
export async function verifyFiles(platform: Platform, names: readonly string[], fault: (found: Fault) => void): Promise<number> {
  const demanded = new Set(names.flatMap((name) => fileOfManifest(name) ?? []));
  const files = new Set(names.map((name) => fileOfManifest(name) ?? name));
  if (files.size === 0) return 0;
  const releases = await releasesOf(platform);
  for (const file of files) {
    const place = manifestPath(file);
    const manifest = await readIfThere(place);
    if (manifest === undefined && demanded.has(file)) fault({ what: 'dataset', kind: 'missing', place });
    const digest = await digestOf(file);
    if (digest === undefined) fault({ what: 'dataset', kind: 'missing', place: file });
    else verifyFile({ file, digest, manifest, place }, releases, fault);
  }
  return files.size;
}

interface Found {
  readonly file: string;
  readonly digest: string;
  /** The text that belongs to it. */
  readonly manifest: string | undefined;
  /** Where that lies. */
  readonly place: string;
}

function verifyFile({ file, digest, manifest, place }: Found, releases: readonly Release[], fault: (found: Fault) => void): void {
  const at = (sha256: unknown) => releases.filter((release) => release.sha256 === sha256);
  const same = at(digest);
  const named = same.length > 0 || manifest === undefined ? same : at(digestIn(manifest));
  const [closest] = named
    .map((release) => ({ release, off: manifest === undefined ? [] : fieldsOffRelease(manifest, release) }))
    .sort((a, b) => a.off.length - b.off.length); // equal content can be released under several names
  if (!closest) {
    fault({ what: 'dataset', kind: 'unknown', place: `${file} (sha256 ${digest}: no release has it)` });
    return;
  }
  const { release, off } = closest;
  const name = `${release.name} version ${release.version}`;
  if (same.length === 0)
    fault({ what: 'dataset', kind: 'changed', place: `${file} (sha256 ${digest}: it was released as ${name})` });
  if (off.length > 0)
    fault({ what: 'dataset', kind: 'changed', place: `${place} (not as ${name} was released: ${off.join(', ')})` });
}

/** Reads every release from its event: the chain covers it, the tables that are folded from it have no such guard. */
async function releasesOf({ database }: Platform): Promise<readonly Release[]> {
  const bodies = await readBodiesOfType(database.db, 'DatasetReleased');
  return bodies.flatMap((body) => {
    const decoded = decode(Buffer.from(body));
    return decoded.kind === 'event' && decoded.event.type === 'DatasetReleased' ? [decoded.event.data] : [];
  });
}

async function digestOf(file: string): Promise<string | undefined> {
  try {
    return await sha256OfFile(file);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function digestIn(manifest: string): unknown {
  try {
    const said: unknown = JSON.parse(manifest);
    return typeof said === 'object' && said !== null && 'sha256' in said ? said.sha256 : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Names the fields of a manifest that say something else than the release does (`counts.lines`); `text` when only its blanks,
 * escapes or repeated keys are not as a manifest is written: then no byte of it can change unseen. Empty when the manifest is as
 * released.
 */
export function fieldsOffRelease(text: string, release: DataOf<'DatasetReleased'>): readonly string[] {
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    return ['it is no JSON'];
  }
  if (!isObject(said)) return ['it is no JSON object'];
  const off = [...fieldsOff(said, manifestOf(release), '')];
  if (off.length === 0 && `${JSON.stringify(said, null, 2)}\n` !== text) return ['text'];
  return off;
}

/** Walks two objects down to the fields in which they differ; lists are compared whole. */
function* fieldsOff(said: object, released: object, path: string): Iterable<string> {
  const [a, b] = [new Map<string, unknown>(Object.entries(said)), new Map<string, unknown>(Object.entries(released))];
  for (const field of new Set([...b.keys(), ...a.keys()])) {
    const [x, y] = [a.get(field), b.get(field)];
    const name = `${path}${field}`;
    if (isObject(x) && isObject(y)) yield* fieldsOff(x, y, `${name}.`);
    else if (x === undefined || y === undefined ? x !== y : canonicalJson(x) !== canonicalJson(y)) yield name;
  }
}
