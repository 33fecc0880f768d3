/**
 * Returns whether compression is rewarded in a training iteration, counted from 1 over the whole run: in every K-th (specification
 * of AgentOCR, §2.3). The reference counts calls of a reward manager: it begins again at 0 after a resume, counts an iteration
 * twice when its first try fails, and counts validation batches too. Here an iteration counts once, when its outcome is recorded.
 * @throws RangeError unless K is 1 or more.
 */
export function isRewarded(every: number, iteration: number): boolean {
  if (!Number.isInteger(every) || every < 1)
    throw new RangeError(`a schedule has a period of 1 or more iterations, not ${every}`);
  return iteration % every === 0;
}
