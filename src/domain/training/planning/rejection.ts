/** Why a sample is never trained, by which rule, and what the rule measured. */
export interface Rejection {
  readonly reason:
    | 'zero-variance'
    | 'stale'
    | 'too-long'
    | 'failed'
    | 'cancelled'
    | 'empty'
    | 'singleton'
    | 'unscored'
    | 'incomplete-record'
    | 'other-distribution'
    | 'unclear-calls'
    | 'foreign-policy'
    | 'incomplete-group'
    | 'filtered'
    | 'not-needed';
  readonly rule: string;
  readonly measured: number | null;
}

export interface RejectedSample extends Rejection {
  readonly treeId: string;
  readonly rolloutId: string;
}
