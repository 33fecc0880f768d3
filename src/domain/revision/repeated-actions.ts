/**
 * Counts how often sequences of `length` actions are repeated on the spot: of every loop, all of its rounds. A pair of actions
 * done five times in a row counts 5 at length 2 (the one example of Agent-R's paper; specification, §3.3). A loop counts at its
 * shortest length only: one action ten times is no pair five times. @throws RangeError unless length is a positive integer.
 */
export function countRepeatedActions(actions: readonly string[], length: number): number {
  if (!Number.isInteger(length) || length < 1) throw new RangeError(`a sequence has 1 or more actions, not ${length}`);
  let count = 0;
  for (let at = 0; at + 2 * length <= actions.length; ) {
    const rounds = roundsAt(actions, at, length);
    if (rounds < 2 || isLoop(actions.slice(at, at + length))) {
      at++;
      continue;
    }
    count += rounds;
    at += rounds * length;
  }
  return count;
}

function roundsAt(actions: readonly string[], at: number, length: number): number {
  let matched = 0;
  while (at + length + matched < actions.length && actions[at + length + matched] === actions[at + matched]) matched++;
  return 1 + Math.floor(matched / length);
}

/** Returns whether a sequence is itself rounds of a shorter one. */
function isLoop(sequence: readonly string[]): boolean {
  for (let period = 1; period <= sequence.length / 2; period++) {
    if (sequence.length % period === 0 && roundsAt(sequence, 0, period) === sequence.length / period) return true;
  }
  return false;
}
