import type { EvaluationRecord } from '../../projections/evaluations/read-evaluations.ts';
import type { Ledger } from '../../projections/training-pool/read-ledger.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Progress } from '../collect/collect-run.ts';
import type { BatchOptions } from './batcher/run-batcher.ts';
import type { BatchFailure, TrainLoopResult } from './train-loop.ts';
import type { TrainPlan } from './train-plan.ts';

export interface EvaluatedVersion {
  readonly version: number;
  readonly evaluation: EvaluationRecord;
}

export interface Training {
  readonly plan: TrainPlan;
  /** Groups at a time; as many as a batch takes, or more where staleness allows it. */
  readonly concurrency: number;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** What plans batches in this process already; without it the training has a batcher of its own. */
  readonly batcher?: BatchOptions;
  readonly onCollect?: (progress: Progress) => void;
  readonly onUpdate?: (trained: TrainLoopResult) => void;
  readonly onTrouble?: (trouble: BatchFailure) => void;
  readonly onEvaluation?: (evaluated: EvaluatedVersion) => void;
}

export interface TrainedPolicy {
  /**
   * `tasks-used-up`: every planned group was collected, and what could be trained of them came to fewer versions than asked for.
   * `failed`: nothing of them could be trained. `stopped`: the signal ended it.
   */
  readonly state: 'completed' | 'tasks-used-up' | 'failed' | 'stopped';
  /** Why it is not completed, with the reasons counted; empty when it is, or when it was stopped. */
  readonly message: string;
  /** What share of the rollouts that were collected failed, and why; empty when none did. */
  readonly failures: string;
  /** Whether most of those rollouts failed. */
  readonly mostFailed: boolean;
  readonly policyId: string;
  readonly runId: string;
  readonly version: number;
  /** SHA-256 of the newest weights, hex. */
  readonly weights: string;
  readonly ledger: Ledger;
  /** By version, up to the newest, where the plan evaluates; empty when it failed, or the signal ended it before. */
  readonly evaluations: readonly EvaluatedVersion[];
}
