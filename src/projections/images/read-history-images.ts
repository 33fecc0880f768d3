import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** Pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** The history that the prompt of a step showed as an image, as it was measured when it was drawn. */
export interface HistoryImageRecord extends Size {
  /** The SHA-256 of size and pixels. */
  readonly id: string;
  readonly stepId: string;
  readonly treeId: string;
  readonly runId: string;
  readonly renderSpecId: string;
  /** How many segments it shows. */
  readonly length: number;
  /** What takes its place where it shows none: a history without a character, or none because nothing has happened yet. */
  readonly history: 'segments' | 'blank' | 'absent';
  /** The places of those that had to be drawn; a cache held the others. */
  readonly missed: readonly number[];
  readonly factor: number;
  readonly factorChosenBy: string | null;
  /**
   * All segments on one another; after the resize by the factor; `width` and `height` are those with the border; what the model
   * takes.
   */
  readonly raw: Size;
  readonly resized: Size;
  readonly model: Size;
  readonly visionTokens: number;
  readonly visionPreset: string;
  readonly textTokens: number;
  readonly tokenizer: string;
  readonly cutSegments: number;
  readonly cutLines: number;
  readonly outside: number;
  readonly renderMs: number;
  readonly renderedAt: Date;
}

/** Reads the images of steps; steps that were shown none are left out. */
export async function readHistoryImages(db: Db, steps: readonly string[]): Promise<readonly HistoryImageRecord[]> {
  return steps.length === 0 ? [] : read(db, sql`step_id = any(${[...steps]}::uuid[])`);
}

/** Reads every image of a run, tree by tree in the order of the log. */
export async function readHistoryImagesOfRun(db: Db, runId: string): Promise<readonly HistoryImageRecord[]> {
  return read(db, sql`run_id = ${runId}`);
}

/** Finds a step that was shown an image, by the image's id: the first one of the record, of whatever run. */
export async function findHistoryImage(db: Db, imageId: string): Promise<HistoryImageRecord | undefined> {
  return (await findHistoryImages(db, [imageId]))[0];
}

/** Finds for each image, by its id, the first step of the record that was shown it; unknown ones are left out. */
export async function findHistoryImages(db: Db, images: readonly string[]): Promise<readonly HistoryImageRecord[]> {
  const { rows } = await sql<HistoryImageRecord>`
    select distinct on (image_id) ${COLUMNS} from history_images where image_id = any(${[...images]}::text[])
    order by image_id, rendered_at, step_id`.execute(db);
  return rows;
}

const COLUMNS = sql`
  image_id as id, step_id, tree_id, run_id, render_spec_id, length, history, missed, factor,
  factor_chosen_by, width, height, jsonb_build_object('width', raw_width, 'height', raw_height) as raw,
  jsonb_build_object('width', resized_width, 'height', resized_height) as resized,
  jsonb_build_object('width', model_width, 'height', model_height) as model, vision_tokens,
  vision_preset, text_tokens, tokenizer, cut_segments, cut_lines,
  outside, render_ms, rendered_at`;

async function read(db: Db, where: RawBuilder<unknown>): Promise<readonly HistoryImageRecord[]> {
  const { rows } = await sql<HistoryImageRecord>`
    select ${COLUMNS} from history_images where ${where} order by tree_id, log_offset`.execute(db);
  return rows;
}
