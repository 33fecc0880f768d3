import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { countEach, mapPages, type Page, type PageRequest, readPages } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import type { Tables } from '../../postgres/tables.ts';
import { keyInTree, type OfTree, pairsOf } from '../of-tree.ts';

/** Pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

type Columns = Pick<
  Selectable<Tables['historyImages']>,
  | ('stepId' | 'treeId' | 'runId' | 'renderSpecId' | 'length' | 'history' | 'missed' | 'factor' | 'factorChosenBy' | 'width')
  | ('height' | 'visionTokens' | 'visionPreset' | 'textTokens' | 'tokenizer' | 'cutSegments' | 'cutLines' | 'outside')
  | ('unshaped' | 'renderMs' | 'renderedAt')
>;

/**
 * The history that the prompt of a step showed as an image, as it was measured when it was drawn. `id` is the SHA-256 of size and
 * pixels, `length` the number of segments that it shows; `missed` are the places of those that had to be drawn.
 */
export interface HistoryImageRecord extends Columns {
  readonly id: string;
  /** All segments on one another; after the resize by the factor; what the model takes. With the border: `width`, `height`. */
  readonly raw: Size;
  readonly resized: Size;
  readonly model: Size;
}

/** Reads the images of steps; steps that were shown none are left out. */
export async function readHistoryImages(db: Db, steps: readonly OfTree[]): Promise<readonly HistoryImageRecord[]> {
  return steps.length === 0 ? [] : read(db, sql`(step_id, tree_id) in (select w.id, w.tree_id from ${pairsOf(steps)} w)`);
}

/** Reads those images of steps that have one of these ids. */
export async function readImagesShown(
  db: Db,
  images: readonly string[],
  steps: readonly OfTree[],
): Promise<readonly HistoryImageRecord[]> {
  if (images.length === 0 || steps.length === 0) return [];
  const ofSteps = sql`(step_id, tree_id) in (select w.id, w.tree_id from ${pairsOf(steps)} w)`;
  return read(db, sql`image_id = any(${[...new Set(images)]}::text[]) and ${ofSteps}`);
}

/**
 * Finds for each image of a prompt the step that showed it first. Equal pixels have one id, but step and factor belong to an
 * occurrence: the last occurrence of an id is the latest step's, the one before it belongs to an earlier step of the path.
 * @param path the steps up to that of the prompt, the earliest first. Null for an image that no history of the path has.
 */
export function occurrencesOf<Image extends Pick<HistoryImageRecord, 'id' | 'stepId' | 'treeId'>>(
  ids: readonly string[],
  path: readonly OfTree[],
  images: readonly Image[],
): readonly (Image | null)[] {
  const byStep = new Map(images.map((image) => [keyInTree(image.treeId, image.stepId), image]));
  const left = new Map<string, Image[]>();
  for (const { treeId, id } of path) {
    const image = byStep.get(keyInTree(treeId, id));
    if (image) left.set(image.id, [...(left.get(image.id) ?? []), image]);
  }
  const earliest = new Map([...left].map(([id, [first]]) => [id, first]));
  return ids
    .toReversed()
    .map((id) => left.get(id)?.pop() ?? earliest.get(id) ?? null)
    .toReversed();
}

/** Reads every image of a run, tree by tree in the order of the log. */
export async function readHistoryImagesOfRun(db: Db, runId: string): Promise<readonly HistoryImageRecord[]> {
  return read(db, sql`run_id = ${runId}`);
}

/** In the order of the log within each tree; or those first that cost, or were compressed, the most. */
export const HISTORY_IMAGE_ORDERINGS = {
  TREE: {
    name: 'historyImages/TREE',
    direction: 'asc',
    keys: [
      { column: 'treeId', type: 'uuid' },
      { column: 'logOffset', type: 'integer' },
      { column: 'stepId', type: 'uuid' },
    ],
  },
  VISION_TOKENS_DESC: most('VISION_TOKENS_DESC', { column: 'visionTokens', type: 'integer' }),
  FACTOR_DESC: most('FACTOR_DESC', { column: 'factor', type: 'float' }),
} as const satisfies Record<string, Ordering>;

function most(name: string, key: Ordering['keys'][number]): Ordering {
  const step = [{ column: 'stepId', type: 'uuid' } as const, { column: 'treeId', type: 'uuid' } as const];
  return { name: `historyImages/${name}`, direction: 'desc', keys: [key, ...step] };
}

/** Reads one page of the images of each run, in one statement. @throws InvalidCursor. */
export async function readHistoryImagePages(
  db: Db,
  runs: readonly string[],
  ordering: Ordering,
  page: PageRequest,
): Promise<readonly Page<HistoryImageRecord>[]> {
  const queries = runs.map((runId) =>
    db.selectFrom('historyImages').where('runId', '=', runId).select(['historyImages.treeId', 'historyImages.stepId as id']),
  );
  const pages = await readPages(db, queries, ordering, page);
  const records = await readHistoryImages(
    db,
    pages.flatMap(({ rows }) => rows.map(({ row }) => row)),
  );
  const byStep = new Map(records.map((record) => [keyInTree(record.treeId, record.stepId), record]));
  return mapPages(pages, ({ treeId, id }) => {
    const record = byStep.get(keyInTree(treeId, id));
    if (!record) throw new Error(`the image of step ${id} is not there any more`);
    return record;
  });
}

/** Counts the images of each run, in one statement. */
export function countHistoryImages(db: Db, runs: readonly string[]): Promise<readonly number[]> {
  return countEach(
    db,
    runs.map((runId) => db.selectFrom('historyImages').where('runId', '=', runId)),
  );
}

/** Finds a step that was shown an image, by the image's id: the first one of the record, of whatever run. */
export async function findHistoryImage(db: Db, imageId: string): Promise<HistoryImageRecord | undefined> {
  return (await findHistoryImages(db, [imageId]))[0];
}

/** Finds for each image, by its id, the first step of the record that was shown it; unknown ones are left out. */
export async function findHistoryImages(db: Db, images: readonly string[]): Promise<readonly HistoryImageRecord[]> {
  const { rows } = await sql<HistoryImageRecord>`
    select distinct on (image_id) ${COLUMNS} from history_images where image_id = any(${[...images]}::text[])
    order by image_id, rendered_at, step_id, tree_id`.execute(db);
  return rows;
}

const COLUMNS = sql`
  image_id as id, step_id, tree_id, run_id, render_spec_id, length, history, missed, factor,
  factor_chosen_by, width, height, jsonb_build_object('width', raw_width, 'height', raw_height) as raw,
  jsonb_build_object('width', resized_width, 'height', resized_height) as resized,
  jsonb_build_object('width', model_width, 'height', model_height) as model, vision_tokens,
  vision_preset, text_tokens, tokenizer, cut_segments, cut_lines,
  outside, unshaped, render_ms, rendered_at`;

async function read(db: Db, where: RawBuilder<unknown>): Promise<readonly HistoryImageRecord[]> {
  const { rows } = await sql<HistoryImageRecord>`
    select ${COLUMNS} from history_images where ${where} order by tree_id, log_offset`.execute(db);
  return rows;
}
