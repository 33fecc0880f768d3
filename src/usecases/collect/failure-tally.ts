import { cutText } from '../../domain/text/cut-text.ts';

/** A reason for which rollouts, or searches, of a run could not go on, and how many it ended. */
export interface FailureReason {
  readonly reason: string;
  readonly count: number;
}

export interface FailureTally {
  add(reason: string, times?: number): void;
  /** How many failed. */
  failed(): number;
  /** The commonest reason first; equally common ones in the order of their text, so that a resumed run names them alike. */
  reasons(): readonly FailureReason[];
}

/** Counts what could not go on in a run, by reason. */
export function failureTally(): FailureTally {
  const counts = new Map<string, number>();
  let failed = 0;
  return {
    add(reason, times = 1) {
      failed += times;
      const said = cutText(reason === '' ? 'no reason given' : reason, REASON_LENGTH);
      counts.set(said, (counts.get(said) ?? 0) + times);
    },
    failed: () => failed,
    reasons: () =>
      [...counts]
        .map(([reason, count]) => ({ reason, count }))
        .sort((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1)),
  };
}

/** Describes what share failed, and why: `3 of 8 rollouts failed: 2 × …; 1 × …`. Empty when none did. @param what `rollouts failed`. */
export function describeFailures(tally: FailureTally, total: number, what: string): string {
  const reasons = tally.reasons();
  if (reasons.length === 0) return '';
  const [first] = reasons;
  const named = reasons.slice(0, NAMED).map(({ reason, count }) => `${count} × ${reason}`);
  const others = reasons.slice(NAMED).reduce((sum, { count }) => sum + count, 0);
  const why =
    reasons.length === 1 && first ? first.reason : [...named, ...(others > 0 ? [`${others} × other reasons`] : [])].join('; ');
  return `${tally.failed()} of ${total} ${what}: ${why}`;
}

const REASON_LENGTH = 1_000;
const NAMED = 5; // of 1,000 characters each: the message of RunFinished takes 10,000
