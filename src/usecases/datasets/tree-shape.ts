import type { Envelope } from '../../events/envelope.ts';
import { type KnownRollout, type KnownStep, wrongEnd } from '../../projections/step-tree/refusals.ts';

/** The events that record a tree; every other type belongs to a run. */
export type TreeEvent = Extract<Envelope, { data: { treeId: string } }>;

/** Returns whether an event belongs to a tree. */
export function isTreeEvent(event: Envelope): event is TreeEvent {
  return 'treeId' in event.data;
}

/**
 * Follows the events of one tree and refuses what does not hang together: the invariants of the read models, checked before
 * anything is appended. What an export writes and what an import takes is the same set. As there, some references must be met
 * before the event that makes them, and others only somewhere in the tree: a reward counts on a step that comes after it.
 */
export class TreeShape {
  readonly #steps = new Map<string, KnownStep>();
  readonly #rollouts = new Map<string, KnownRollout>();
  readonly #ended = new Set<string>();
  readonly #rewards = new Set<string>();
  readonly #revisions = new Set<string>();
  readonly #histories = new Set<string>();
  readonly #prompts = new Set<string>();
  readonly #annotations = new Set<string>();
  readonly #checked = new Set<string>();
  /** Steps that captured replies become, which may not be on record yet. */
  readonly #replies = new Set<string>();
  /** Events whose references may be met later, with those references. */
  readonly #open: { readonly event: TreeEvent; readonly steps: readonly (string | null)[]; readonly rolloutId: string | null }[] =
    [];
  #opened = false;
  #closed = false;

  /** Takes the next event of the tree. Returns null, or the reason why it is refused; what is refused leaves no trace. */
  refuse(event: TreeEvent): string | null {
    if (event.type === 'TreeOpened') {
      if (this.#opened) return 'the tree was opened before';
      this.#opened = true;
      this.#steps.set(event.data.rootStepId, { depth: 0, rolloutId: null });
      return null;
    }
    if (event.type === 'SpanReceived') return null; // the first ones come before the tree that they become
    if (!this.#opened) return 'the tree has not been opened; its TreeOpened comes first';
    switch (event.type) {
      case 'RolloutStarted':
        return this.#refuseStart(event);
      case 'StepTaken':
        return this.#refuseStep(event);
      case 'RolloutFinished':
        return this.#refuseEnd(event);
      case 'RewardAssigned':
        return (
          once(this.#rewards, event.data.rewardId, 'reward') ?? this.#expect(event, [event.data.stepId], event.data.rolloutId)
        );
      case 'RewardRevised':
        return this.#rewards.has(event.data.rewardId) ? null : `the tree has no reward ${event.data.rewardId} before this event`;
      case 'ValueBackedUp':
        return this.#expect(event, [...event.data.path, event.data.leafStepId]);
      case 'ToolCalled':
      case 'ReplayDiverged':
        return this.#unknownStep(event.data.stepId);
      case 'CallCaptured': {
        const { stepId, parentStepId, rolloutId } = event.data;
        if (stepId !== null) this.#replies.add(stepId);
        return this.#unknownStep(parentStepId) ?? this.#unknownRollout(rolloutId);
      }
      case 'NodeExpanded':
      case 'RepliesSampled':
        return this.#expect(event, [event.data.stepId]);
      case 'HistoryRendered':
        return this.#refuseHistory(event);
      case 'PromptShown':
        return this.#refusePrompt(event);
      case 'NodeAdded':
        return this.#expect(event, [event.data.stepId, event.data.parentStepId]);
      case 'StepJudged':
        return this.#expect(event, [event.data.leafStepId, event.data.stepId]);
      case 'RevisionComposed': {
        const { goodLeafStepId, badLeafStepId, branchStepId, transitionStepId } = event.data;
        const twice = once(this.#revisions, event.data.revisionId, 'revision');
        return twice ?? this.#expect(event, [goodLeafStepId, badLeafStepId, branchStepId, transitionStepId]);
      }
      case 'RevisionVerified':
      case 'RevisionRejected': {
        const { revisionId } = event.data;
        if (!this.#revisions.has(revisionId)) return `the tree has no revision ${revisionId} before this event`;
        return once(this.#checked, revisionId, 'outcome of revision');
      }
      case 'AnnotationAdded': {
        const { annotationId, subject } = event.data;
        const [stepId, rolloutId] = [
          subject.kind === 'step' ? subject.stepId : null,
          subject.kind === 'rollout' ? subject.rolloutId : null,
        ];
        return once(this.#annotations, annotationId, 'annotation') ?? this.#expect(event, [stepId], rolloutId);
      }
      case 'AnnotationRetracted': {
        const { annotationId } = event.data;
        return this.#annotations.has(annotationId) ? null : `the tree has no annotation ${annotationId} before this event`;
      }
      case 'TreeResumed':
        return null;
      case 'TreeClosed': {
        if (this.#closed) return 'the tree was closed before';
        this.#closed = true;
        return null;
      }
      default:
        return refuseUnknown(event);
    }
  }

  #refuseStart({ data: { rolloutId, fromStepId } }: Extract<TreeEvent, { type: 'RolloutStarted' }>): string | null {
    const from = this.#steps.get(fromStepId);
    if (!from) return this.#unknownStep(fromStepId);
    if (this.#rollouts.has(rolloutId)) return `rollout ${rolloutId} occurs twice`;
    this.#rollouts.set(rolloutId, { fromStepId, fromDepth: from.depth });
    return null;
  }

  #refuseEnd({ data }: Extract<TreeEvent, { type: 'RolloutFinished' }>): string | null {
    const [rollout, leaf] = [this.#rollouts.get(data.rolloutId), this.#steps.get(data.leafStepId)];
    if (!rollout || !leaf) return this.#unknownRollout(data.rolloutId) ?? this.#unknownStep(data.leafStepId);
    const wrong = wrongEnd(data, rollout, leaf);
    return wrong ? `${wrong.field}: ${wrong.reason}` : once(this.#ended, data.rolloutId, 'end of rollout');
  }

  #refuseStep({ data }: Extract<TreeEvent, { type: 'StepTaken' }>): string | null {
    const parent = this.#steps.get(data.parentStepId);
    if (!parent) return this.#unknownStep(data.parentStepId);
    if (data.depth !== parent.depth + 1)
      return `depth must be ${parent.depth + 1}, one more than its parent's, not ${data.depth}`;
    if (this.#steps.has(data.stepId)) return `step ${data.stepId} occurs twice`;
    const unknown = this.#unknownRollout(data.rolloutId);
    if (unknown) return unknown;
    this.#steps.set(data.stepId, { depth: data.depth, rolloutId: data.rolloutId });
    return null;
  }

  #refuseHistory(event: Extract<TreeEvent, { type: 'HistoryRendered' }>): string | null {
    const { data } = event;
    if (data.prefix && !this.#histories.has(data.prefix.stepId))
      return `step ${data.prefix.stepId} has no history before this event`;
    const twice = once(this.#histories, data.stepId, 'history of step');
    return twice ?? this.#expect(event, [data.stepId, data.factorChosenBy]);
  }

  #refusePrompt(event: Extract<TreeEvent, { type: 'PromptShown' }>): string | null {
    const { base, messages, stepId, judgementId } = event.data;
    if (base && !this.#prompts.has(base.stepId)) return `${base.stepId} has no prompt before this event`;
    const twice = once(this.#prompts, judgementId ?? stepId, judgementId ? 'prompt of judgement' : 'prompt of step');
    const named = messages.flatMap(({ parts }) => parts.flatMap((part) => (part.kind === 'step' ? [part.stepId] : [])));
    return twice ?? this.#expect(event, [this.#replies.has(stepId) ? null : stepId, ...named]);
  }

  /** Notes references that may be met by an event behind this one. */
  #expect(event: TreeEvent, steps: readonly (string | null)[], rolloutId: string | null = null): null {
    if (steps.some((stepId) => this.#unknownStep(stepId)) || this.#unknownRollout(rolloutId))
      this.#open.push({ event, steps, rolloutId });
    return null;
  }

  /**
   * Returns the events that refer to what the tree does not have up to here, with the reason: asked at its end, those that do not
   * hang together.
   */
  dangling(): ReadonlyMap<TreeEvent, string> {
    const found = new Map<TreeEvent, string>();
    for (const { event, steps, rolloutId } of this.#open) {
      const missing = steps.find((stepId) => this.#unknownStep(stepId) !== null);
      if (missing) found.set(event, `the tree has no step ${missing}`);
      else if (this.#unknownRollout(rolloutId)) found.set(event, `the tree has no rollout ${rolloutId}`);
    }
    return found;
  }

  #unknownStep(stepId: string | null): string | null {
    return stepId === null || this.#steps.has(stepId) ? null : `the tree has no step ${stepId} before this event`;
  }

  #unknownRollout(rolloutId: string | null): string | null {
    return rolloutId === null || this.#rollouts.has(rolloutId) ? null : `the tree has no rollout ${rolloutId} before this event`;
  }
}

function once(seen: Set<string>, id: string, what: string): string | null {
  if (seen.has(id)) return `${what} ${id} occurs twice`;
  seen.add(id);
  return null;
}

function refuseUnknown(event: never): string {
  throw new TypeError(`a tree event of a type without a rule: ${JSON.stringify(event)}`);
}
