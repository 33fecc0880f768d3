import { ByteWriter, type ColumnSource, ParquetWriter } from 'hyparquet-writer';
import { turnWeights } from '../../domain/dataset/turn-weights.ts';
import { unpack } from '../../events/packed.ts';
import type { Packed } from '../../events/schemas/values.ts';
import type { ByteSink, ExportFormat } from './format.ts';
import { PARQUET_COLUMNS, PARQUET_SCHEMA } from './parquet-schema.ts';
import type { ExportTrajectory } from './recorded-tree.ts';

const ROWS_PER_GROUP = 1_024;
const BYTES_PER_GROUP = 16 * 1024 * 1024; // of text and tokens: what is held before a row group goes to the file

type Row = Readonly<Record<(typeof PARQUET_COLUMNS)[number], unknown>>;

/** Writes trajectories as Parquet (Snappy), a bounded row group at a time. */
export class ParquetRows {
  readonly #out: SinkWriter;
  readonly #parquet: ParquetWriter;
  readonly #format: Extract<ExportFormat, { kind: 'parquet' }>;
  #rows: Row[] = [];
  #bytes = 0;

  constructor(sink: ByteSink, format: Extract<ExportFormat, { kind: 'parquet' }>) {
    this.#format = format;
    this.#out = new SinkWriter(sink);
    this.#parquet = new ParquetWriter({
      writer: this.#out,
      schema: PARQUET_SCHEMA,
      createdBy: 'espalier',
      kvMetadata: [{ key: 'espalier.schema', value: 'trajectories/1' }],
    });
  }

  async write(trajectory: ExportTrajectory): Promise<void> {
    this.#rows.push(parquetRow(trajectory, this.#format));
    this.#bytes += sizeOf(trajectory);
    if (this.#rows.length >= ROWS_PER_GROUP || this.#bytes >= BYTES_PER_GROUP) await this.#writeGroup();
  }

  /** Writes the last row group and the footer. A file without rows is a valid Parquet file. */
  async finish(): Promise<void> {
    if (this.#rows.length > 0) await this.#writeGroup();
    await this.#parquet.finish();
  }

  async #writeGroup(): Promise<void> {
    const rows = this.#rows;
    this.#rows = [];
    this.#bytes = 0;
    // Without page offset indexes: they stay in memory until the footer, and a row group here is one or few pages.
    const columnData = PARQUET_COLUMNS.map(
      (name): ColumnSource => ({ name, data: rows.map((row) => row[name]), offsetIndex: false }),
    );
    await this.#parquet.write({ columnData, rowGroupSize: rows.length });
  }
}

/** Gives one row of the file: the columns of `PARQUET_SCHEMA`. */
export function parquetRow(trajectory: ExportTrajectory, format: Extract<ExportFormat, { kind: 'parquet' }>): Row {
  const { head, rollout, root, steps } = trajectory;
  const weights = turnWeights(steps, rollout, format.weights);
  return {
    trajectory_id: rollout.rolloutId,
    tree_id: head.treeId,
    run_id: head.runId,
    task_id: head.taskId,
    environment: head.environment,
    server_fingerprint: head.serverFingerprint,
    task_alias: head.alias,
    goal: head.goal,
    task_depth: head.taskDepth,
    split: head.split,
    policy_id: rollout.policyId,
    policy_version: rollout.policyVersion,
    ordinal: rollout.ordinal,
    seed: BigInt(rollout.seed),
    outcome: rollout.outcome,
    success: rollout.success,
    return: trajectory.returnValue,
    rewards: componentRows(trajectory.rewards),
    step_count: steps.length,
    started_at: rollout.startedAt,
    finished_at: rollout.finishedAt,
    instruction: head.instruction,
    first_observation: root.observation,
    steps: steps.map((step, i) => ({
      step_id: step.stepId,
      rollout_id: step.rolloutId,
      depth: step.depth,
      response: step.response,
      thought: step.thought,
      action: step.action,
      observation: step.observation,
      termination: step.termination,
      well_formatted: step.wellFormatted,
      executable: step.executable,
      weight: weights[i] ?? 0,
      reward: Object.values(step.rewards).reduce((sum, value) => sum + value, 0),
      rewards: componentRows(step.rewards),
      state_hash: step.stateHash,
      policy_spans: step.policySpans.map(({ from, to, policyId, version }) => ({ from, to, policy_id: policyId, version })),
      prompt_tokens: step.promptTokens,
      completion_tokens: step.completionTokens,
      finish_reason: step.finishReason,
      token_ids: numbers(step.tokens?.ids),
      log_probs: numbers(step.tokens?.logProbs),
      token_mask: numbers(step.tokens?.mask),
    })),
  };
}

function componentRows(rewards: Readonly<Record<string, number>>): readonly { component: string; value: number }[] {
  return Object.entries(rewards).map(([component, value]) => ({ component, value }));
}

function numbers(packed: Packed | null | undefined): readonly number[] | null {
  return packed ? unpack(packed) : null;
}

/** Estimates what a row holds in memory until its group is written: text as UTF-16, unpacked numbers at 8 bytes. */
function sizeOf({ head, root, steps }: ExportTrajectory): number {
  let size = 1_000 + 2 * (head.instruction.length + root.observation.length);
  for (const step of steps) {
    size += 500 + 2 * (step.response.length + step.thought.length + step.action.length + step.observation.length);
    size += 8 * ((step.tokens?.ids.length ?? 0) + (step.tokens?.logProbs?.length ?? 0) + (step.tokens?.mask?.length ?? 0));
  }
  return size;
}

/** Hands the bytes of each finished row group to the sink and begins its buffer anew. */
class SinkWriter extends ByteWriter {
  readonly #sink: ByteSink;
  constructor(sink: ByteSink) {
    super();
    this.#sink = sink;
  }
  async flush(): Promise<void> {
    await this.#sink.write(this.getBytes());
    this.index = 0;
  }
  override async finish(): Promise<void> {
    await this.flush();
  }
}
