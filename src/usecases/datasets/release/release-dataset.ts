import { rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Appender, Draft } from '../../../append/appender.ts';
import type { BlobStore } from '../../../blobs/blob-store.ts';
import type { Thresholds } from '../../../domain/revision/thresholds.ts';
import { derivedId } from '../../../events/derived-id.ts';
import type { Receipt } from '../../../log/event-log.ts';
import type { Db } from '../../../postgres/database.ts';
import {
  countExamples,
  type ExampleRecord,
  readRevisionsOfDatasets,
} from '../../../projections/dataset-sources/read-examples.ts';
import { type DatasetRecord, readDatasetsOfName } from '../../../projections/datasets/read-datasets.ts';
import { readPromptContents, readSelectedOfTree } from '../../../projections/trajectories/select-trajectories.ts';
import { everyTrajectory } from '../../../projections/trajectories/trajectory-query.ts';
import { makeFolder } from '../../../runtime/make-folder.ts';
import { DatasetError } from '../dataset-error.ts';
import { jsonLine } from '../export/json-line.ts';
import { manifestPath } from '../export/manifest.ts';
import { openPictures } from '../export/pictures.ts';
import { configs } from '../export/stream-trajectories.ts';
import { exportRows, type RowExportOptions, type RowManifest } from '../rows/export-rows.ts';
import { ROW_FORMAT_VERSIONS } from '../rows/row-options.ts';
import { shownBodies } from '../rows/shown-bodies.ts';
import { rowsOf } from '../rows/stream-rows.ts';
import type { TrainingRow } from '../rows/training-row.ts';
import { type WrittenExample, withSource } from '../rows/write-rows.ts';

export interface ReleaseOptions extends Omit<RowExportOptions, 'existing' | 'onExample' | 'preferred'> {
  readonly name: string;
  /** What the examples are read from, where that is not the read models of now: those of a moment of the record. */
  readonly source?: Db;
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
 * Freezes a dataset: the file and its manifest first, whole; then the event that names them. Who is killed between leaves a file
 * that no release names, and the repetition yields the same bytes and the event. Equal content under one name is the same
 * release, with its manifest; other content is the next version. Of revisions of equal content the one that the version before
 * was made of is taken again, so that mining them once more makes no version. The id is that of name and version, so of two at the same moment
 * one is the fact and the other takes the version after. With it goes what each example was made of; a repetition adds what is
 * missing of that.
 * @throws DatasetError `invalid-query`, `nothing-matches`, `file-exists`, `conflict` for content that was withdrawn; then nothing
 * is recorded.
 */
export async function releaseDataset(options: ReleaseOptions): Promise<Release> {
  const { db, name, source = db } = options;
  if (!NAME.test(name))
    throw new DatasetError(
      'invalid-query',
      `${JSON.stringify(name)} is no name: letters, digits, dots, dashes and underscores, at most 100`,
    );
  const examples: WrittenExample[] = [];
  const preferred = await readRevisionsOfDatasets(db, lastOf(await readDatasetsOfName(db, name)));
  const manifest = await exportRows({ ...options, db: source, preferred, onExample: (written) => examples.push(written) });
  for (let tried = 0; tried < TRIES; tried++) {
    const datasets = await readDatasetsOfName(db, name);
    const same = datasets.find(({ sha256 }) => sha256 === manifest.sha256);
    if (same && tried === 0) {
      const dataset = refuseWithdrawn(same);
      await completeSources(options, dataset, examples);
      const recorded = manifestOf(dataset);
      await restoreManifest(options.out, recorded);
      return { kind: 'already-released', dataset, manifest: recorded };
    }
    if (same) return { kind: 'released', dataset: same, manifest };
    const release = released(name, nextVersion(datasets), manifest);
    const parts = sourced(release.data.datasetId, manifest.sha256, examples);
    await options.settled(await options.appender.append([release, ...parts]));
  }
  throw new DatasetError('conflict', `${name} is being released by others over and over; release it again`);
}

/**
 * Withdraws a dataset: it is in the record, and must not be trained on any more. Doing it again changes nothing. @throws
 * DatasetError `invalid-query`.
 */
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
  const dataset = datasets.find(({ id, name, version }) => id === text || `${name}@${version}` === text);
  if (!dataset) throw new DatasetError('nothing-matches', `there is no dataset ${text}; \`espalier dataset list\` names them`);
  return dataset;
}

/** The id of the last version that was not withdrawn, if there is one. */
function lastOf(known: readonly DatasetRecord[]): readonly string[] {
  const valid = known.filter(({ withdrawnAt }) => withdrawnAt === null).sort((a, b) => b.version - a.version);
  return valid.slice(0, 1).map(({ id }) => id);
}

function nextVersion(known: readonly DatasetRecord[]): number {
  return 1 + known.reduce((most, { version }) => Math.max(most, version), 0);
}

/**
 * Appends the sources of a release that lacks some of them: its process was killed in between, or wrote before sources were
 * recorded.
 */
async function completeSources(
  { db, appender, settled }: ReleaseOptions,
  { id, sha256 }: DatasetRecord,
  examples: readonly WrittenExample[],
): Promise<void> {
  const [stored = 0] = await countExamples(db, [{ datasetId: id }]);
  const missing = sourced(id, sha256, examples).slice(Math.floor(stored / PART)); // parts lie in the log one behind the other
  if (stored < examples.length) await settled(await appender.append(missing));
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

const PART = 500; // examples in one event: about 150 KB

/**
 * Records what the examples of a file were made of, in parts. Their ids hold the digest: those of other content under this id are
 * other events.
 */
function sourced(datasetId: string, sha256: string, examples: readonly WrittenExample[]): Draft<'DatasetSourced'>[] {
  return Array.from({ length: Math.ceil(examples.length / PART) }, (_, part) => ({
    type: 'DatasetSourced',
    id: derivedId('DatasetSourced', datasetId, sha256, part),
    correlationId: datasetId,
    data: { datasetId, sha256, part, examples: examples.slice(part * PART, (part + 1) * PART) },
  }));
}

/** What a release is recorded by, as the event and the read model have it. */
type RecordedRelease = Omit<DatasetRecord, 'id' | 'name' | 'version' | 'releasedAt' | 'withdrawnAt' | 'withdrawReason'>;

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
async function restoreManifest(out: string, manifest: RowManifest): Promise<void> {
  const path = manifestPath(out);
  await makeFolder(dirname(path));
  await writeFile(`${path}.restored`, `${JSON.stringify(manifest, null, 2)}\n`);
  await rename(`${path}.restored`, path);
}

/**
 * Makes the lines of a released example again, from the record and by what the release says of itself. A picture is named as in
 * the file, without the name of the file, which no release holds.
 * @throws DatasetError `conflict` where the record does not yield the example any more, and what writing a file throws.
 */
export async function releasedText(
  db: Db,
  blobs: Pick<BlobStore, 'get'>,
  dataset: DatasetRecord,
  example: ExampleRecord,
): Promise<string> {
  const { format, formatVersion, parameters: recorded, query: chosen } = manifestOf(dataset);
  const query = { ...everyTrajectory, ...chosen };
  const { alpha, beta } = (recorded.thresholds ?? {}) as Partial<Thresholds>; // the event holds any JSON
  if (alpha === undefined || beta === undefined) throw conflict(dataset, example, 'it does not hold the thresholds of an export');
  const parameters = { ...recorded, thresholds: { alpha, beta } }; // a table of JSON does not keep the order of names
  if (formatVersion !== ROW_FORMAT_VERSIONS[format.kind])
    throw conflict(dataset, example, `it was written as ${format.kind} ${formatVersion}, which this version does not write`);
  const rollouts = await readSelectedOfTree(db, query, example.treeId);
  const [first] = rollouts;
  if (!first) throw conflict(dataset, example, 'no trajectory of its tree is chosen by the filter of the release any more');
  const making = { blobs, parameters, configOf: configs(db) };
  const pictures = openPictures(db, blobs, await readPromptContents(db, query));
  const shelf = { pictures, folder: { keep: async ({ id }: { readonly id: string }) => `__images__/${id}.png` } };
  for await (const rows of rowsOf(db, [{ treeId: example.treeId, runId: first.runId, rollouts }], making)) {
    const row = rows.find((each) => isOf(each, example));
    if (!row || row.isAltered) continue;
    const bodies = await shownBodies(row, format, shelf);
    return bodies.map(({ body, said }) => jsonLine(withSource(body, said, row, format))).join('');
  }
  throw conflict(dataset, example, 'its tree yields other examples now');
}

function isOf({ kind, source, rollouts }: TrainingRow, example: ExampleRecord): boolean {
  if (kind !== example.kind || rollouts.good !== example.goodRolloutId || rollouts.bad !== example.badRolloutId) return false;
  return source.revision === example.revisionId;
}

function conflict({ name, version }: DatasetRecord, { line }: ExampleRecord, why: string): DatasetError {
  return new DatasetError('conflict', `line ${line} of ${name}@${version} cannot be made again: ${why}; read it in the file`);
}
