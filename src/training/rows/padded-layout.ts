import { layOutRollout, type RolloutLayout } from '../../domain/training/rows/rollout-layout.ts';
import type { ShownPrompt } from '../../projections/prompts/read-prompts.ts';
import type { BatchRows } from './batch-rows.ts';
import type { LaidOut, NotLaidOut } from './layout.ts';
import type { RowAdvantages } from './row-advantages.ts';
import type { Numbers, Tensor } from './safetensors.ts';
import { verlLayout } from './verl-layout.ts';

/** Entries of a padded column, 256 MiB as int32: with one long row among many short ones, most of a batch is padding. */
const MOST_ENTRIES = 2 ** 26;
/** Columns with a value per token of the response, and what padding holds there. */
const PADDING: Readonly<Record<string, number>> = {
  rollout_log_probs: 0,
  token_level_scores: 0,
  policy_versions: -1, // the version of a token that no policy sampled
  step_indices: -1,
  advantages: 0,
  returns: 0,
};
/** Columns that the rectangles replace. */
const REPLACED: ReadonlySet<string> = new Set(['cu_seqlens', 'responses', 'response_mask', 'prompts', 'prompt_cu_seqlens']);

/**
 * Pads the rows of the layout `verl` to rectangles for trainers that read those (verl's `DataProto`, Agent-R1): `prompts` [rows,
 * P] padded on the left, `responses` [rows, R] padded on the right, `input_ids`, `attention_mask` (1 on tokens) and
 * `position_ids` [rows, P + R], `response_mask` (1 on sampled tokens) and every other token column [rows, R]. Where no prompt of
 * the batch has token ids, P is 0: whoever puts a prompt before a row adds its length to the positions.
 */
export function paddedLayout(
  rows: BatchRows,
  prompts: ReadonlyMap<string, ShownPrompt>,
  advantages: RowAdvantages | null = null,
): LaidOut | NotLaidOut {
  const jagged = verlLayout(rows, prompts, advantages);
  if (jagged.kind === 'refused') return jagged;
  const tensors = new Map(jagged.tensors.map((tensor) => [tensor.name, tensor]));
  const column = (name: string): Numbers => tensors.get(name)?.data ?? new Int32Array();
  const responses = spansOf(column('cu_seqlens'));
  const asked = spansOf(column('prompt_cu_seqlens'));
  const [response, prompt] = [widestOf(responses), widestOf(asked)];
  const width = prompt + response;
  if (responses.length * width > MOST_ENTRIES)
    return {
      kind: 'refused',
      message: `${responses.length} rows padded to ${width} tokens have more than ${MOST_ENTRIES} entries`,
      remedy: 'ask for layout=verl, which pads nothing, or plan smaller batches',
    };
  const laidOut = responses.map(({ from, to }, i) => {
    const ids = [...column('responses').slice(from, to)];
    const mask = column('response_mask').slice(from, to);
    const turns = ids.map((id, t) => (mask[t] === 1 ? { sampled: [id], answered: [] } : { sampled: [], answered: [id] }));
    const before = asked[i] ?? { from: 0, to: 0 };
    return layOutRollout([...column('prompts').slice(before.from, before.to)], turns, { prompt, response, padId: 0 });
  });
  const joined = (name: string, columns: number, of: (row: RolloutLayout) => Int32Array | Uint8Array): Tensor => {
    const size = laidOut.length * columns;
    const data = name.endsWith('_mask') ? new Uint8Array(size) : new Int32Array(size);
    for (const [i, row] of laidOut.entries()) data.set(of(row), i * columns);
    return { name, shape: [laidOut.length, columns], data };
  };
  const own =
    prompt === 0 ? [] : [joined('prompts', prompt, (row) => row.prompts), joined('input_ids', width, (row) => row.inputIds)];
  return {
    ...jagged,
    tensors: [
      ...own,
      joined('responses', response, (row) => row.responses),
      joined('attention_mask', width, (row) => row.attentionMask),
      joined('response_mask', response, (row) => row.actionMask),
      joined('position_ids', width, (row) => row.positionIds),
      ...Object.entries(PADDING).flatMap(([name, padding]) =>
        tensors.has(name) ? [padded(name, column(name), responses, response, padding)] : [],
      ),
      ...jagged.tensors.filter(({ name }) => !REPLACED.has(name) && PADDING[name] === undefined),
    ],
  };
}

interface Span {
  readonly from: number;
  readonly to: number;
}

function spansOf(borders: Numbers): readonly Span[] {
  return Array.from(borders.subarray(1), (to, i) => ({ from: borders[i] ?? 0, to }));
}

function widestOf(spans: readonly Span[]): number {
  return spans.reduce((most, { from, to }) => Math.max(most, to - from), 0);
}

function padded(name: string, values: Numbers, spans: readonly Span[], widest: number, padding: number): Tensor {
  const size = spans.length * widest;
  const data = values instanceof Int32Array ? new Int32Array(size).fill(padding) : new Float32Array(size).fill(padding);
  for (const [i, { from, to }] of spans.entries()) data.set(values.subarray(from, to), i * widest);
  return { name, shape: [spans.length, widest], data };
}
