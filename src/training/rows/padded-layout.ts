import { layOutRollout, type RolloutLayout } from '../../domain/training/rows/rollout-layout.ts';
import type { BatchRows } from './batch-rows.ts';
import type { LaidOut, NotLaidOut } from './layout.ts';
import type { Numbers, Tensor } from './safetensors.ts';
import { verlLayout } from './verl-layout.ts';

/** Entries of a padded column, 256 MiB as int32: with one long row among many short ones, most of a batch is padding. */
const MOST_ENTRIES = 2 ** 26;
const JAGGED = ['rollout_log_probs', 'policy_versions', 'token_level_scores'];
const NOT_SAMPLED = -1; // the version of a token that no policy sampled, padding included

/**
 * Pads the rows of the layout `verl` on the right to the longest of the batch, for trainers that read rectangles (verl's
 * `DataProto`, Agent-R1): `responses`, `attention_mask` (1 on tokens), `response_mask` (1 on sampled ones), `position_ids`
 * counted from the first token of the response, and every token column, each [rows, longest]. Token ids of prompts are not
 * recorded: whoever puts a prompt before a row adds its length to the positions.
 */
export function paddedLayout(rows: BatchRows): LaidOut | NotLaidOut {
  const jagged = verlLayout(rows);
  if (jagged.kind === 'refused') return jagged;
  const tensors = new Map(jagged.tensors.map((tensor) => [tensor.name, tensor]));
  const column = (name: string): Numbers => tensors.get(name)?.data ?? new Int32Array();
  const borders = [...column('cu_seqlens')];
  const spans = borders.slice(1).map((end, i): Span => ({ from: borders[i] ?? 0, to: end }));
  const widest = spans.reduce((most, { from, to }) => Math.max(most, to - from), 0);
  if (spans.length * widest > MOST_ENTRIES)
    return {
      kind: 'refused',
      message: `${spans.length} rows padded to ${widest} tokens have more than ${MOST_ENTRIES} entries`,
      remedy: 'ask for layout=verl, which pads nothing, or plan smaller batches',
    };
  const laidOut = spans.map(({ from, to }) => {
    const ids = [...column('responses').slice(from, to)];
    const mask = column('response_mask').slice(from, to);
    const turns = ids.map((id, t) => (mask[t] === 1 ? { sampled: [id], answered: [] } : { sampled: [], answered: [id] }));
    return layOutRollout([], turns, { prompt: 0, response: widest, padId: 0 });
  });
  const shape = [spans.length, widest];
  const joined = <T extends Int32Array | Uint8Array>(into: T, of: (row: RolloutLayout) => T): T => {
    for (const [i, row] of laidOut.entries()) into.set(of(row), i * widest);
    return into;
  };
  const size = spans.length * widest;
  return {
    ...jagged,
    tensors: [
      { name: 'responses', shape, data: joined(new Int32Array(size), (row) => row.responses) },
      { name: 'attention_mask', shape, data: joined(new Uint8Array(size), (row) => row.attentionMask) },
      { name: 'response_mask', shape, data: joined(new Uint8Array(size), (row) => row.actionMask) },
      { name: 'position_ids', shape, data: joined(new Int32Array(size), (row) => row.positionIds) },
      ...JAGGED.map((name): Tensor => ({ name, shape, data: padded(column(name), spans, widest, name) })),
      ...jagged.tensors.filter(({ name }) => !['cu_seqlens', 'responses', 'response_mask', ...JAGGED].includes(name)),
    ],
  };
}

interface Span {
  readonly from: number;
  readonly to: number;
}

function padded(values: Numbers, spans: readonly Span[], widest: number, name: string): Numbers {
  const size = spans.length * widest;
  const wide = name === 'policy_versions' ? new Int32Array(size).fill(NOT_SAMPLED) : new Float32Array(size);
  for (const [i, { from, to }] of spans.entries()) wide.set(values.subarray(from, to), i * widest);
  return wide;
}
