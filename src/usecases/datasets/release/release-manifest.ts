import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { DatasetRecord } from '../../../projections/datasets/read-datasets.ts';
import { manifestPath } from '../export/manifest.ts';
import type { RowManifest } from '../rows/export-rows.ts';

/** What a release is recorded by, as the event and the read model have it. */
export type RecordedRelease = Omit<DatasetRecord, 'id' | 'name' | 'version' | 'releasedAt' | 'withdrawnAt' | 'withdrawReason'>;

/** Puts the manifest together again that a release was made of. */
export function manifestOf(release: RecordedRelease): RowManifest {
  const { format: kind, formatVersion, query, codeVersion, position, counts, runs, bytes, sha256, parameters: all } = release;
  // an object, by who wrote the event
  const { general, metadata, span, ...parameters } = (all ?? {}) as Readonly<Record<string, unknown>>;
  const schema: RowManifest['schema'] = 'espalier-rows-manifest/1';
  const format = { kind, metadata, span };
  const manifest = {
    schema,
    format,
    formatVersion,
    query,
    parameters,
    general,
    codeVersion,
    position,
    counts,
    runs,
    bytes,
    sha256,
  };
  return manifest as unknown as RowManifest; // what `released` took apart
}

/** Writes the manifest of a release next to its file again: one that was just made of the same content names another moment. */
export async function restoreManifest(out: string, manifest: RowManifest): Promise<void> {
  const path = manifestPath(out);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.restored`, `${JSON.stringify(manifest, null, 2)}\n`);
  await rename(`${path}.restored`, path);
}
