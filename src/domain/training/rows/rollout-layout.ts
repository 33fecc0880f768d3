/** One turn of a rollout: the ids that the model sampled, and those of what the environment answered; none after the last. */
export interface LayoutTurn {
  readonly sampled: readonly number[];
  readonly answered: readonly number[];
}

interface LayoutWidths {
  /** Columns of the prompt: a longer one keeps its end. */
  readonly prompt: number;
  /** Columns of the response: a longer one keeps its beginning. */
  readonly response: number;
  readonly padId: number;
}

/** One padded row; all arrays of `inputIds` are `prompt + response` columns wide. */
export interface RolloutLayout {
  readonly prompts: Int32Array;
  readonly responses: Int32Array;
  readonly inputIds: Int32Array;
  /** 1 on tokens, 0 on padding. */
  readonly attentionMask: Uint8Array;
  /** (cumsum(attention) − 1)·attention. */
  readonly positionIds: Int32Array;
  /** The response's part of the attention mask: sampled and answered tokens. */
  readonly responseMask: Uint8Array;
  /** 1 on sampled tokens alone. */
  readonly actionMask: Uint8Array;
  /** The last response column that holds a token, where the outcome's reward is put; −1 without one. */
  readonly rewardColumn: number;
  /** Turns that the environment answered. */
  readonly turns: number;
}

/**
 * Lays a rollout out in one padded row, as Agent-R1's branch legacy does (specification of Agent-R1, §1.2): prompt padded on the
 * left, the tokens of all turns one after the other and padded on the right.
 */
export function layOutRollout(prompt: readonly number[], turns: readonly LayoutTurn[], widths: LayoutWidths): RolloutLayout {
  const kept = prompt.slice(Math.max(0, prompt.length - widths.prompt));
  const tokens = turns.flatMap(({ sampled, answered }) => [...sampled, ...answered]).slice(0, widths.response);
  const actions = turns.flatMap(({ sampled, answered }) => [...sampled.map(() => 1), ...answered.map(() => 0)]);
  const prompts = new Int32Array(widths.prompt).fill(widths.padId);
  prompts.set(kept, widths.prompt - kept.length);
  const responses = new Int32Array(widths.response).fill(widths.padId);
  responses.set(tokens);
  const inputIds = new Int32Array(widths.prompt + widths.response);
  inputIds.set(prompts);
  inputIds.set(responses, widths.prompt);
  const attentionMask = new Uint8Array(widths.prompt + widths.response);
  attentionMask.fill(1, widths.prompt - kept.length, widths.prompt + tokens.length);
  const actionMask = new Uint8Array(widths.response);
  actionMask.set(actions.slice(0, widths.response));
  return {
    prompts,
    responses,
    attentionMask,
    actionMask,
    inputIds,
    positionIds: positionIds(attentionMask, 'zero'),
    responseMask: attentionMask.slice(widths.prompt),
    rewardColumn: tokens.length - 1,
    turns: turns.filter(({ answered }) => answered.length > 0).length,
  };
}

/**
 * Numbers the attended tokens of a padded row from 0. On what is not attended the two generations differ: verl repeats the number
 * of the last attended token (0 before the first), max(cumsum − 1, 0); Agent-R1 legacy writes 0, (cumsum − 1)·mask. Attention
 * ignores both.
 */
export function positionIds(attention: ArrayLike<number>, unattended: 'repeat' | 'zero'): Int32Array {
  let seen = 0;
  return Int32Array.from(attention, (attended) => {
    seen += attended;
    if (attended === 0 && unattended === 'zero') return 0;
    return Math.max(seen - 1, 0);
  });
}
