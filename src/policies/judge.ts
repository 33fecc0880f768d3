import type { JudgeSlots } from '../domain/revision/judge-prompt.ts';
import type { Verdict } from '../domain/revision/verdict.ts';
import type { SearchedStep } from '../domain/search/searched-step.ts';
import type { Act } from './policy.ts';

/** Who says of a step of a bad trajectory whether it was the error. Verdicts are kept by name, revision and what was asked. */
export interface Judge {
  readonly name: string;
  /** Another revision may say something else of the same step. */
  readonly revision: string;
  /** Judges one step. The same request yields the same verdict where the judge is deterministic. @throws PolicyError. */
  judge(request: JudgeRequest, signal: AbortSignal): Promise<Judged>;
  close(): Promise<void>;
}

export interface JudgeRequest {
  /** The trajectory, from its first action, and the place of the step to judge. */
  readonly steps: readonly SearchedStep[];
  readonly index: number;
  /** What it is asked: `judgePrompt` makes it a message. */
  readonly slots: JudgeSlots;
  /** Asks the environment how far the goal was before the step and after it; null where it cannot say. */
  readonly planAround: () => Promise<PlanAround | null>;
}

/** How many actions a perfect player would have needed before and after a step; null where there was no way to the goal. */
export interface PlanAround {
  readonly before: number | null;
  readonly after: number | null;
  /** Whether the environment understood and executed the action. */
  readonly executable: boolean;
}

export interface Judged {
  readonly verdict: Verdict;
  /** All that was said. */
  readonly reply: string;
  /** The act of the model that judged, with the prompt that it was asked with; absent where no model was asked. */
  readonly act?: Act;
}

/** The judge cannot judge here: another one must be named. */
export class JudgeUnfit extends Error {
  override readonly name = 'JudgeUnfit';
}
