import type { Envelope } from '../events/envelope.ts';

/** The events that tell a tree; every other type belongs to a run. */
export type TreeEvent = Extract<Envelope, { data: { treeId: string } }>;

/** Tells whether an event belongs to a tree. */
export function isTreeEvent(event: Envelope): event is TreeEvent {
  return 'treeId' in event.data;
}

/**
 * Follows the events of one tree and refuses what does not hang together: the invariants of the read models, checked before anything is
 * appended. What an export writes and what an import takes is the same set.
 */
export class TreeShape {
  readonly #depths = new Map<string, number>();
  readonly #rollouts = new Set<string>();
  readonly #ended = new Set<string>();
  readonly #rewards = new Set<string>();
  readonly #revisions = new Set<string>();
  readonly #histories = new Set<string>();
  readonly #checked = new Set<string>();
  #opened = false;
  #closed = false;

  /** Takes the next event of the tree. Gives null, or the reason why it is refused; what is refused leaves no trace. */
  refuse(event: TreeEvent): string | null {
    if (event.type === 'TreeOpened') {
      if (this.#opened) return 'the tree was opened before';
      this.#opened = true;
      this.#depths.set(event.data.rootStepId, 0);
      return null;
    }
    if (!this.#opened) return 'the tree has not been opened; its TreeOpened comes first';
    switch (event.type) {
      case 'RolloutStarted':
        return this.#unknownStep(event.data.fromStepId) ?? once(this.#rollouts, event.data.rolloutId, 'rollout');
      case 'StepTaken':
        return this.#refuseStep(event);
      case 'RolloutFinished':
        return (
          this.#unknownRollout(event.data.rolloutId) ??
          this.#unknownStep(event.data.leafStepId) ??
          once(this.#ended, event.data.rolloutId, 'end of rollout')
        );
      case 'RewardAssigned':
        return (
          this.#unknownStep(event.data.stepId) ??
          this.#unknownRollout(event.data.rolloutId) ??
          once(this.#rewards, event.data.rewardId, 'reward')
        );
      case 'RewardRevised':
        return this.#rewards.has(event.data.rewardId) ? null : `the tree has no reward ${event.data.rewardId} before this event`;
      case 'ValueBackedUp': {
        for (const stepId of [...event.data.path, event.data.leafStepId]) {
          const unknown = this.#unknownStep(stepId);
          if (unknown) return unknown;
        }
        return null;
      }
      case 'ToolCalled':
      case 'ReplayDiverged':
      case 'NodeExpanded':
      case 'RepliesSampled':
        return this.#unknownStep(event.data.stepId);
      case 'HistoryRendered':
        return this.#refuseHistory(event);
      case 'NodeAdded':
        return this.#unknownStep(event.data.stepId) ?? this.#unknownStep(event.data.parentStepId);
      case 'StepJudged':
        return this.#unknownStep(event.data.leafStepId) ?? this.#unknownStep(event.data.stepId);
      case 'RevisionComposed':
        return (
          this.#unknownStep(event.data.goodLeafStepId) ??
          this.#unknownStep(event.data.badLeafStepId) ??
          this.#unknownStep(event.data.branchStepId) ??
          this.#unknownStep(event.data.transitionStepId) ??
          once(this.#revisions, event.data.revisionId, 'revision')
        );
      case 'RevisionVerified':
      case 'RevisionRejected': {
        const { revisionId } = event.data;
        if (!this.#revisions.has(revisionId)) return `the tree has no revision ${revisionId} before this event`;
        return once(this.#checked, revisionId, 'outcome of revision');
      }
      case 'TreeClosed': {
        if (this.#closed) return 'the tree was closed before';
        this.#closed = true;
        return null;
      }
      default:
        return refuseUnknown(event);
    }
  }

  #refuseStep({ data }: Extract<TreeEvent, { type: 'StepTaken' }>): string | null {
    const parent = this.#depths.get(data.parentStepId);
    if (parent === undefined) return `the tree has no step ${data.parentStepId} before this event`;
    if (data.depth !== parent + 1) return `depth must be ${parent + 1}, one more than its parent's, not ${data.depth}`;
    if (this.#depths.has(data.stepId)) return `step ${data.stepId} stands twice`;
    const unknown = this.#unknownRollout(data.rolloutId);
    if (unknown) return unknown;
    this.#depths.set(data.stepId, data.depth);
    return null;
  }

  #refuseHistory({ data }: Extract<TreeEvent, { type: 'HistoryRendered' }>): string | null {
    const unknown = this.#unknownStep(data.stepId) ?? this.#unknownStep(data.factorChosenBy);
    if (unknown) return unknown;
    if (data.prefix && !this.#histories.has(data.prefix.stepId))
      return `step ${data.prefix.stepId} has no history before this event`;
    return once(this.#histories, data.stepId, 'history of step');
  }

  #unknownStep(stepId: string | null): string | null {
    return stepId === null || this.#depths.has(stepId) ? null : `the tree has no step ${stepId} before this event`;
  }

  #unknownRollout(rolloutId: string | null): string | null {
    return rolloutId === null || this.#rollouts.has(rolloutId) ? null : `the tree has no rollout ${rolloutId} before this event`;
  }
}

function once(seen: Set<string>, id: string, what: string): string | null {
  if (seen.has(id)) return `${what} ${id} stands twice`;
  seen.add(id);
  return null;
}

function refuseUnknown(event: never): string {
  throw new TypeError(`a tree event of a type without a rule: ${JSON.stringify(event)}`);
}
