import { cutText } from '../../domain/text/cut-text.ts';
import { EnvironmentError } from '../../environments/environment.ts';

/**
 * Why an environment cannot go on, where that does not end the run. `failed`: it would fail again, and that is recorded. `away`:
 * what it asks is away, and what it would have answered is not for the policy to learn from.
 */
export interface EnvironmentFault {
  readonly kind: 'failed' | 'away';
  readonly reason: string;
}

/**
 * Returns the fault that an error means; null for one that ends the run, which can be resumed. An answer that cannot be read says
 * nothing of other tasks.
 */
export function environmentFault(error: unknown): EnvironmentFault | null {
  if (!(error instanceof EnvironmentError)) return null;
  const reason = error.message.slice(0, 9_000);
  if (error.code === 'failed' || error.code === 'protocol') return { kind: 'failed', reason };
  return error.code === 'backend' ? { kind: 'away', reason } : null;
}

/** Waits for an environment. @throws errors that are no such fault. */
export async function withFault<T>(working: Promise<T>): Promise<T | EnvironmentFault> {
  try {
    return await working;
  } catch (error) {
    const fault = environmentFault(error);
    if (fault === null) throw error;
    return fault;
  }
}

/** A reason for which rollouts, or searches, of a run could not go on, and how many it ended. */
export interface FailureReason {
  readonly reason: string;
  readonly count: number;
}

interface FailureTally {
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
