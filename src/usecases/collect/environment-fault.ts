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
export async function orFault<T>(working: Promise<T>): Promise<T | EnvironmentFault> {
  try {
    return await working;
  } catch (error) {
    const fault = environmentFault(error);
    if (fault === null) throw error;
    return fault;
  }
}
