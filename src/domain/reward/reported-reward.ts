/**
 * Returns the reward that Agent-R1's technical report prints (equation 6), which is not what its code pays: the exact match where
 * answer and tool calls are all in form, else how much of the form is there, less one.
 */
export function reportedReward(parts: {
  readonly answerForm: number;
  readonly toolForm: number;
  readonly exactMatch: number;
}): number {
  const form = (parts.answerForm + parts.toolForm) / 2;
  return form === 1 ? parts.exactMatch : form - 1;
}
