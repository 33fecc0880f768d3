import type { Policy } from '../../policies/policy.ts';

/** Decides when a group may begin, and by which policy. Nobody is refused: who may not begin yet waits. */
export interface Admission {
  /**
   * Waits until the group of a tree may begin, and returns the policy that it is to be collected with. The calls of a run come
   * one after the other, in the order of its plan. A group that was begun before (the run is resumed) is admitted at once. Null
   * when no further group is wanted: the run is then complete.
   * @throws the signal's reason.
   */
  admit(treeId: string, signal: AbortSignal): Promise<Policy | null>;
  /** Takes note of a group that is about to be closed: its place may be free before anything is recorded of its samples. */
  closing(treeId: string): void;
  /** Takes note of a group that was admitted and could not be begun: nothing of it will be recorded, and its place is free. */
  unopened(treeId: string): void;
  close(): Promise<void>;
}
