import type { RawBuilder } from 'kysely';

/** A scorer whose judgements are recalled; without a revision every one of it. */
export interface Judged {
  readonly name: string;
  readonly revision: string | null;
}

/**
 * Where a recall begins: rollouts (a query that returns `rollout_id` and `tree_id`), or something that was made of rollouts.
 * `steps` (a query that returns `step_id` and `tree_id`) are the steps that are recalled: a run that was forked at one of them, or below, repeats them. Null
 * where a judgement is recalled, which no fork repeats.
 */
export type RecallSeed =
  | {
      readonly kind: 'rollouts';
      readonly rollouts: RawBuilder<unknown>;
      readonly steps: RawBuilder<unknown> | null;
      /** They are of one tree and forks from it: they are looked up one by one, and the table of all rollouts is not read. */
      readonly few?: true;
      /** Whose judgements of them are recalled: what was trained before those is not touched. */
      readonly judged?: Judged;
    }
  | { readonly kind: 'dataset'; readonly datasetId: string }
  | { readonly kind: 'batch'; readonly batchId: string }
  | { readonly kind: 'version'; readonly policyId: string; readonly version: number };

export interface TouchedDataset {
  readonly datasetId: string;
  readonly name: string;
  readonly version: number;
  /**
   * Examples made of touched rollouts; null where the release does not say what its lines were made of, and names a touched run.
   */
  readonly examples: number | null;
  readonly withdrawn: boolean;
}

export interface TouchedBatch {
  readonly batchId: string;
  readonly policyId: string;
  readonly ordinal: number;
  /** Its samples that are touched. */
  readonly samples: number;
  readonly trained: boolean;
}

export interface TouchedVersion {
  readonly policyId: string;
  readonly version: number;
  /**
   * `itself`: where the recall begins. `trained-on`: a touched batch or dataset. `descends`: trained from a version that is
   * touched.
   */
  readonly how: 'itself' | 'trained-on' | 'descends';
}

export interface TouchedEvaluation {
  readonly runId: string;
  readonly policyId: string;
  readonly version: number;
  readonly meanReturn: number | null;
  /** `measures`: a touched version. `counts`: touched rollouts are its episodes, or what its episodes went on from. */
  readonly how: 'measures' | 'counts';
}

/** Everything that was made of something; each list whole, in one order. */
export interface Touched {
  readonly runs: readonly string[];
  readonly trees: number;
  readonly rollouts: number;
  readonly datasets: readonly TouchedDataset[];
  readonly batches: readonly TouchedBatch[];
  readonly versions: readonly TouchedVersion[];
  readonly evaluations: readonly TouchedEvaluation[];
}
