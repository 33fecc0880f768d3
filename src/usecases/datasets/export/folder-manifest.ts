import type { ExportCounts, Manifest } from './manifest.ts';
import type { Shard } from './shard-sink.ts';

/** What a folder of a data set is and where it comes from. */
export interface FolderManifest extends Omit<Manifest, 'schema' | 'bytes' | 'sha256'> {
  readonly schema: 'espalier-folder-manifest/1';
  readonly splits: Readonly<Record<string, ExportCounts>>;
  readonly files: readonly Shard[];
}

/** Where the manifest of a folder lies in it. */
export const FOLDER_MANIFEST = '_manifests/dataset.manifest';
