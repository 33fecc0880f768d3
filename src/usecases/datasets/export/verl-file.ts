import type { ChatTokenizer } from './chat-tokenizer.ts';
import type { ExportTrajectory } from './export-trajectory.ts';
import type { ByteSink, ExportFormat } from './format.ts';
import { ParquetFile } from './parquet-file.ts';
import type { Pictures } from './pictures.ts';
import { verlSteps, verlTrajectories } from './verl-schema.ts';
import { verlStepRows } from './verl-steps.ts';
import { verlTrajectoryRows } from './verl-trajectory.ts';

/** Writes trajectories as Parquet for verl, a row per trajectory or per step. */
export class VerlFile {
  readonly #file: ParquetFile;
  readonly #layout: Extract<ExportFormat, { kind: 'verl' }>['layout'];
  readonly #pictures: Pictures;
  readonly #tokenizer: ChatTokenizer | null;

  /** Rows that hold ids which the tokenizer made. */
  retokenised = 0;

  /** @param tokenizer for rows of trajectories whose texts have no ids; null leaves texts untokenised. */
  constructor(
    sink: ByteSink,
    { layout }: Extract<ExportFormat, { kind: 'verl' }>,
    pictures: Pictures,
    tokenizer: ChatTokenizer | null,
  ) {
    this.#layout = layout;
    this.#pictures = pictures;
    this.#tokenizer = tokenizer;
    this.#file = new ParquetFile(sink, layout === 'trajectory' ? verlTrajectories(pictures) : verlSteps(pictures));
  }

  /**
   * Returns the number of rows that the trajectory took: none for one that took no step. @throws DatasetError `missing-tokens`.
   */
  async write(trajectory: ExportTrajectory): Promise<number> {
    const written =
      this.#layout === 'trajectory'
        ? verlTrajectoryRows(trajectory, { pictures: this.#pictures, tokenizer: this.#tokenizer })
        : verlStepRows(trajectory, this.#pictures);
    let rows = 0;
    for await (const row of written) {
      // The chat before a step is at most the whole episode; what was shown besides it is its pictures and token ids.
      await this.#file.write(row, sizeOf(trajectory) + picturesSize(row) + idsSize(row));
      rows += 1;
      if (row.tokenised === 'retokenised') this.retokenised += 1;
    }
    return rows;
  }

  /** Writes the last row group and the footer. */
  finish(): Promise<void> {
    return this.#file.finish();
  }
}

function picturesSize({ images }: Readonly<Record<string, unknown>>): number {
  if (!Array.isArray(images)) return 0;
  return images.reduce((sum: number, { bytes }: { readonly bytes: Uint8Array }) => sum + bytes.length, 0);
}

function idsSize({ prompts, responses }: Readonly<Record<string, unknown>>): number {
  const length = (ids: unknown) => (Array.isArray(ids) ? ids.length : 0);
  return 8 * length(prompts) + 32 * length(responses);
}

/** Estimates what a trajectory holds in memory: text as UTF-16, and four numbers of 8 bytes for every token. */
function sizeOf({ head, root, steps }: ExportTrajectory): number {
  let size = 2_000 + 2 * (head.instruction.length + root.observation.length);
  for (const { response, observation, tokens } of steps)
    size += 500 + 2 * (response.length + observation.length) + 32 * (tokens?.ids.length ?? 0);
  return size;
}
