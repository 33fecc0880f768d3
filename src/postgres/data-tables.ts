import type { ColumnType } from 'kysely';
import type { BlobsColumn, Instant, InstantOrNull, Json } from './column-types.ts';

/** The tables of history images and of datasets. */
export interface RenderSpecsTable {
  render_spec_id: string;
  spec: Json;
}
export interface RunRenderSpecsTable {
  run_id: string;
  render_spec_id: string;
  profile: string;
  registered_at: Instant;
}
export interface SegmentsTable {
  segment_id: string;
  render_spec_id: string;
  text: string;
  lines: number;
  width: number;
  height: number;
  rgb: string;
  cut_lines: number;
  outside: number;
  run_id: string;
  rendered_at: Instant;
  blobs: BlobsColumn;
}
export interface HistoryImagesTable {
  step_id: string;
  tree_id: string;
  run_id: string;
  render_spec_id: string;
  prefix_step_id: string | null;
  prefix_from: number;
  prefix_to: number;
  segments: ColumnType<string[], string, string>;
  length: number;
  history: 'segments' | 'blank' | 'absent';
  missed: ColumnType<number[], string, string>;
  factor: number;
  factor_chosen_by: string | null;
  raw_width: number;
  raw_height: number;
  resized_width: number;
  resized_height: number;
  width: number;
  height: number;
  model_width: number;
  model_height: number;
  vision_tokens: number;
  vision_preset: string;
  text_tokens: number;
  tokenizer: string;
  image_id: string;
  cut_segments: number;
  cut_lines: number;
  outside: number;
  render_ms: number;
  rendered_at: Instant;
  log_offset: number;
}
export interface DatasetsTable {
  dataset_id: string;
  name: string;
  version: number;
  format: string;
  format_version: number;
  query: Json;
  parameters: Json;
  position: ColumnType<Record<string, string>, string, string>;
  counts: Json;
  bytes: number;
  sha256: string;
  code_version: string;
  runs: string[];
  released_at: Instant;
  withdrawn_at: InstantOrNull;
  withdraw_reason: string | null;
}
export interface DatasetDigestsTable {
  dataset_id: string;
  sha256: string;
}
export interface DatasetExamplesTable {
  dataset_id: string;
  line: number;
  lines: number;
  kind: 'good' | 'revision' | 'pair';
  tree_id: string;
  good_rollout_id: string;
  bad_rollout_id: string | null;
  revision_id: string | null;
}
/** A computation by name, revision and what was chosen of it. */
