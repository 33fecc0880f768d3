import { openSha256 } from '../../digest/sha256.ts';
import { fitsFloat32 } from '../../domain/float32.ts';
import type { StoredPrompt } from '../../projections/prompts/read-prompts.ts';
import type { BatchRows } from './batch-rows.ts';
import type { LaidOut, Layout, NotLaidOut } from './layout.ts';
import { type Numbers, writeSafetensors } from './safetensors.ts';
import { describeAdvantages, type RowAdvantages, stepLayout } from './step-layout.ts';
import { paddedLayout, verlLayout } from './verl-layout.ts';

/** The format of the body; a column that means something else is a new number, a further column is none. */
export const ROWS_FORMAT = 'espalier.rows/1';

// a reward may be revised
const CHANGING: ReadonlySet<string> = new Set([
  'rewards',
  'trajectory_rewards',
  'step_scores',
  'token_level_scores',
  'reward_baselines',
]);

const LAY_OUT: Readonly<Record<Layout, (rows: BatchRows, prompts: Prompts, found: Found) => LaidOut | NotLaidOut>> = {
  step: (rows, _prompts, found) => stepLayout(rows, found),
  verl: verlLayout,
  padded: paddedLayout,
};

/** What steps were asked with, by their ids. */
type Prompts = ReadonlyMap<string, StoredPrompt>;
const NO_PROMPTS: Prompts = new Map();
/** Their advantages; null where nobody asked for any. */
type Found = RowAdvantages | null;

export interface EncodedRows {
  readonly kind: 'encoded';
  /** One body in parts. */
  readonly parts: readonly Uint8Array[];
  readonly bytes: number;
  /**
   * SHA-256 of what can change: the names and numbers around the tokens. Tokens and texts are facts under the ids named there,
   * and hashing them would take as long as reading them.
   */
  readonly digest: string;
  /** The position of the rewards; null where the reader did not say. */
  readonly rewardsAt: string | null;
}

interface Besides {
  readonly rewardsAt?: string | null;
  readonly prompts?: Prompts;
  readonly advantages?: Found;
}

/**
 * Packs a batch as one safetensors body: jagged columns without padding (`cu_seqlens` are the row borders), the batch and the
 * names of rows as JSON in the metadata with the position of the rewards, texts as UTF-8 JSON in a tensor of bytes (readers bound
 * the header, and most trainers skip the texts). @param prompts for layouts that merge steps. @param advantages where they are
 * asked for: columns next to the tokens, which follow from the rewards, or in the metadata why there are none.
 */
export function encodeRows(
  rows: BatchRows,
  layout: Layout,
  { rewardsAt = null, prompts = NO_PROMPTS, advantages = null }: Besides = {},
): EncodedRows | NotLaidOut {
  const laidOut = LAY_OUT[layout](rows, prompts, advantages);
  if (laidOut.kind === 'refused') return laidOut;
  const beyond = findBeyondFloat32(laidOut, rows);
  if (beyond !== null) return beyond;
  const texts = new Uint8Array(Buffer.from(JSON.stringify(laidOut.texts), 'utf8'));
  const tensors = [...laidOut.tensors, { name: 'texts', shape: [texts.length], data: texts }];
  const metadata = {
    format: ROWS_FORMAT,
    layout,
    batch: JSON.stringify(rows.batch),
    rows: JSON.stringify(laidOut.names),
    ...(advantages === null ? {} : { advantages: describeAdvantages(advantages) }),
  };
  const parts = writeSafetensors(tensors, rewardsAt === null ? metadata : { ...metadata, rewardsAt });
  // Without the position, which moves on whatever is recorded: equal rewards are equal rows.
  const digest = openSha256().update(writeSafetensors(tensors, metadata)[0] ?? '');
  for (const { name, data } of laidOut.tensors)
    if (CHANGING.has(name)) digest.update(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  return {
    kind: 'encoded',
    rewardsAt,
    digest: digest.digest('hex'),
    parts,
    bytes: parts.reduce((sum, part) => sum + part.byteLength, 0),
  };
}

/** Finds a number of a sampled token, or of a row, that is infinite in float32, in which trainers hold it. What was shown has numbers that nobody reads. */
function findBeyondFloat32({ tensors }: LaidOut, { trajectories }: BatchRows): NotLaidOut | null {
  const column = (name: string): Numbers => tensors.find((tensor) => tensor.name === name)?.data ?? new Int32Array();
  const [mask, borders, rowOf] = [column('response_mask'), column('cu_seqlens'), column('trajectory_index')];
  const refused = (name: string, row: number): NotLaidOut => ({
    kind: 'refused',
    message: `${name} of rollout ${trajectories[rowOf[row] ?? 0]?.rolloutId} holds a number beyond 3.4e38, which is infinite in float32`,
    remedy:
      'revise the rewards that it comes from (espalier score), or scale them by the weights of rewards that the policy is declared with',
  });
  for (const { name, shape, data } of tensors) {
    if (data instanceof Float32Array) {
      const at = data.findIndex((value, i) => mask[i] === 1 && !Number.isFinite(value));
      if (at < 0) continue;
      return refused(
        name,
        shape.length === 2 ? Math.floor(at / (shape[1] ?? 1)) : borders.findLastIndex((border) => border <= at),
      );
    }
    const at = name === 'reward_baselines' ? Array.from(data).findIndex((value) => !fitsFloat32(value)) : -1;
    if (at >= 0) return refused(name, at);
  }
  return null;
}
