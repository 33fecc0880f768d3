import type { BatchStep, BatchTokens, BatchTrajectory } from './batch-rows.ts';
import type { Tensor } from './safetensors.ts';

/** The token columns of a body: rows of any length, one after the other. */
export class JaggedTokens {
  readonly #borders: Int32Array;
  readonly #ids: Int32Array;
  readonly #mask: Uint8Array;
  readonly #logProbs: Float32Array;
  readonly #versions: Int32Array;
  readonly #hasLogProbs: Uint8Array;
  readonly #policyId: string;
  #row = 0;
  #at = 0;

  /** @param policyId whose versions are meant: tokens of another policy, and those that nobody sampled, have the version −1. */
  constructor(rows: number, tokens: number, policyId: string) {
    this.#borders = new Int32Array(rows + 1);
    this.#ids = new Int32Array(tokens);
    this.#mask = new Uint8Array(tokens);
    this.#logProbs = new Float32Array(tokens);
    this.#versions = new Int32Array(tokens).fill(-1);
    this.#hasLogProbs = new Uint8Array(rows).fill(1);
    this.#policyId = policyId;
  }

  /** Appends the tokens of a step to the row under way. Returns the place of its last sampled token, or −1. */
  add({ tokens, spans }: BatchStep): number {
    if (tokens === null) {
      this.#hasLogProbs[this.#row] = 0;
      return -1;
    }
    const { ids, mask, logProbs } = tokens;
    this.#ids.set(ids, this.#at);
    this.#mask.set(mask, this.#at);
    if (logProbs) this.#logProbs.set(logProbs, this.#at);
    else this.#hasLogProbs[this.#row] = 0;
    for (const { from, to, policyId, version } of spans)
      if (policyId === this.#policyId) this.#versions.fill(version, this.#at + from, this.#at + Math.min(to, ids.length));
    const last = mask.lastIndexOf(1);
    const place = last < 0 ? -1 : this.#at + last;
    this.#at += ids.length;
    return place;
  }

  endRow(): void {
    this.#borders[++this.#row] = this.#at;
  }

  tensors(): readonly Tensor[] {
    const all = [this.#at];
    return [
      { name: 'cu_seqlens', shape: [this.#borders.length], data: this.#borders },
      { name: 'responses', shape: all, data: this.#ids },
      { name: 'response_mask', shape: all, data: this.#mask },
      { name: 'rollout_log_probs', shape: all, data: this.#logProbs },
      { name: 'policy_versions', shape: all, data: this.#versions },
      { name: 'has_log_probs', shape: [this.#hasLogProbs.length], data: this.#hasLogProbs },
    ];
  }
}

/** Counts the tokens of the steps that a trajectory took itself. */
export function countTokens(trajectories: readonly BatchTrajectory[]): number {
  let tokens = 0;
  for (const trajectory of trajectories) for (const step of ownSteps(trajectory)) tokens += lengthOf(step.tokens);
  return tokens;
}

/** The steps that the rollout took itself. */
export function ownSteps({ steps, from }: BatchTrajectory): readonly BatchStep[] {
  return from === 0 ? steps : steps.slice(from);
}

function lengthOf(tokens: BatchTokens | null): number {
  return tokens?.ids.length ?? 0;
}
