import type { Appender, Draft } from '../../append/appender.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { Receipt } from '../../log/event-log.ts';
import { type DatasetRecord, readDatasetsOfName } from '../../projections/datasets/read-datasets.ts';
import { DatasetError } from '../dataset-error.ts';
import { exportRows, type RowExportOptions, type RowManifest } from '../rows/export-rows.ts';

export interface ReleaseOptions extends Omit<RowExportOptions, 'existing'> {
  readonly name: string;
  /** `same`: a file that is there must be this very release. */
  readonly existing: 'same' | 'replace';
  readonly appender: Appender;
  /** Resolves when the read models hold what the receipts name. */
  readonly settled: (receipts: readonly Receipt[]) => Promise<void>;
}

export interface Release {
  readonly kind: 'released' | 'already-released';
  readonly dataset: DatasetRecord;
  readonly manifest: RowManifest;
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
const TRIES = 10; // each lost race is another release of the same name, which took a version

/**
 * Freezes a dataset: the file and its manifest first, whole; then the event that names them. Who is killed between leaves a file that no release
 * names, and the repetition gives the same bytes and the event. Equal content under one name is the same release; other content is the
 * next version. The id is that of name and version, so of two at the same moment one is the fact and the other takes the version after.
 * @throws DatasetError `invalid-query`, `nothing-matches`, `file-exists`, `conflict` for content that was withdrawn; then nothing is recorded.
 */
export async function releaseDataset(options: ReleaseOptions): Promise<Release> {
  const { db, name } = options;
  if (!NAME.test(name))
    throw new DatasetError(
      'invalid-query',
      `${JSON.stringify(name)} is no name: letters, digits, dots, dashes and underscores, at most 100`,
    );
  const manifest = await exportRows(options);
  for (let tried = 0; tried < TRIES; tried++) {
    const known = await readDatasetsOfName(db, name);
    const same = known.find(({ sha256 }) => sha256 === manifest.sha256);
    if (same && tried === 0) return { kind: 'already-released', dataset: refuseWithdrawn(same), manifest };
    if (same) return { kind: 'released', dataset: same, manifest };
    await options.settled(await options.appender.append([released(name, nextVersion(known), manifest)]));
  }
  throw new DatasetError('conflict', `${name} is being released by others over and over; release it again`);
}

/** Withdraws a dataset: it is in the record, and must not be trained on any more. Doing it again changes nothing. @throws DatasetError `invalid-query`. */
export async function withdrawDataset(
  { db, appender, settled }: Pick<ReleaseOptions, 'db' | 'appender' | 'settled'>,
  dataset: DatasetRecord,
  reason: string,
): Promise<DatasetRecord> {
  if (reason.trim() === '')
    throw new DatasetError('invalid-query', 'a withdrawal needs its reason, for those who trained on the dataset');
  if (dataset.withdrawnAt === null) {
    const { id: datasetId } = dataset;
    const draft = { type: 'DatasetWithdrawn', id: derivedId('DatasetWithdrawn', datasetId), correlationId: datasetId } as const;
    await settled(await appender.append([{ ...draft, data: { datasetId, reason } }]));
  }
  return (await readDatasetsOfName(db, dataset.name)).find(({ id }) => id === dataset.id) ?? dataset;
}

/** Finds a dataset by its id or as `name@version`. @throws DatasetError `nothing-matches`. */
export function findDataset(datasets: readonly DatasetRecord[], text: string): DatasetRecord {
  const found = datasets.find(({ id, name, version }) => id === text || `${name}@${version}` === text);
  if (!found) throw new DatasetError('nothing-matches', `there is no dataset ${text}; \`espalier dataset list\` names them`);
  return found;
}

function nextVersion(known: readonly DatasetRecord[]): number {
  return 1 + Math.max(0, ...known.map(({ version }) => version));
}

function refuseWithdrawn(dataset: DatasetRecord): DatasetRecord {
  if (dataset.withdrawnAt === null) return dataset;
  const { name, version, withdrawReason } = dataset;
  throw new DatasetError('conflict', `this content is ${name}@${version}, which was withdrawn: ${withdrawReason}`);
}

function released(name: string, version: number, manifest: RowManifest): Draft<'DatasetReleased'> {
  const { format, formatVersion, query, parameters, general, codeVersion, position, counts, runs, bytes, sha256 } = manifest;
  const datasetId = derivedId('dataset', name, version);
  return {
    type: 'DatasetReleased',
    id: derivedId('DatasetReleased', datasetId),
    correlationId: datasetId,
    data: {
      datasetId,
      name,
      version,
      format: format.kind,
      formatVersion,
      query,
      parameters: { ...parameters, general, metadata: format.metadata, span: format.span },
      position: { ...position },
      counts,
      bytes,
      sha256,
      codeVersion,
      runs: [...runs],
    },
  };
}
