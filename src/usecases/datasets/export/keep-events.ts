import type { TreeEvent } from '../tree-shape.ts';

/**
 * Keeps of the events that took effect in a tree what the chosen rollouts touch: their paths with everything on them, the starts
 * of the rollouts that took those steps (without their ends, unless chosen too), back-ups that lie on kept steps whole.
 */
export function keepTouched(events: readonly TreeEvent[], chosen: ReadonlySet<string>): readonly TreeEvent[] {
  const { steps, started } = touchedIds(events, chosen);
  // Replies are kept together or not at all: those of a node whose children were not all chosen hold what nobody asked for.
  const partly = new Set(
    events.flatMap((event) => (event.type === 'NodeAdded' && !steps.has(event.data.stepId) ? [event.data.parentStepId] : [])),
  );
  const rewards = new Set<string>();
  const revisions = new Set<string>();
  const histories = new Set<string>();
  const prompts = new Set<string>();
  const judgements = new Set<string>();
  const annotations = new Set<string>();
  /** What is said of a row or of the whole tree goes with every part of the tree. */
  const isOfKept = (subject: AnnotatedSubject) => {
    if (subject.kind === 'step') return steps.has(subject.stepId);
    if (subject.kind === 'rollout') return chosen.has(subject.rolloutId);
    return subject.kind !== 'revision' || revisions.has(subject.revisionId);
  };
  return events.filter((event) => {
    switch (event.type) {
      case 'TreeOpened':
      case 'TreeClosed':
      case 'TreeResumed': // what the collectors before it append late has no effect where the file is imported either
        return true;
      case 'RolloutStarted':
        return started.has(event.data.rolloutId);
      case 'RolloutFinished':
        return chosen.has(event.data.rolloutId);
      case 'StepTaken':
      case 'ToolCalled':
      case 'ReplayDiverged':
      case 'NodeAdded':
      case 'NodeExpanded':
        return steps.has(event.data.stepId);
      case 'SpanReceived':
        return chosen.has(event.data.rolloutId);
      case 'CallCaptured':
        return isKeptCall(event, steps, chosen);
      case 'RepliesSampled':
        return steps.has(event.data.stepId) && !partly.has(event.data.stepId);
      case 'RewardAssigned':
        return isOnKept(event, steps, chosen) && rewards.add(event.data.rewardId).size > 0;
      case 'RewardRevised':
        return rewards.has(event.data.rewardId);
      case 'ValueBackedUp':
        return [...event.data.path, event.data.leafStepId].every((stepId) => steps.has(stepId));
      case 'HistoryRendered': {
        const { stepId, prefix } = event.data;
        return steps.has(stepId) && (!prefix || histories.has(prefix.stepId)) && histories.add(stepId).size > 0;
      }
      case 'PromptShown': {
        const { stepId, judgementId, base } = event.data;
        const kept = judgementId === undefined ? steps.has(stepId) : judgements.has(judgementId);
        return kept && (!base || prompts.has(base.stepId)) && prompts.add(judgementId ?? stepId).size > 0;
      }
      case 'StepJudged':
        return steps.has(event.data.leafStepId) && judgements.add(event.id).size > 0;
      case 'RevisionComposed': {
        const { goodLeafStepId, badLeafStepId } = event.data;
        return steps.has(goodLeafStepId) && steps.has(badLeafStepId) && revisions.add(event.data.revisionId).size > 0;
      }
      case 'RevisionVerified':
      case 'RevisionRejected':
        return revisions.has(event.data.revisionId);
      case 'AnnotationAdded':
        return isOfKept(event.data.subject) && annotations.add(event.data.annotationId).size > 0;
      case 'AnnotationRetracted':
        return annotations.has(event.data.annotationId);
      default:
        return refuseUnknown(event);
    }
  });
}

type AnnotatedSubject = Extract<TreeEvent, { type: 'AnnotationAdded' }>['data']['subject'];

interface Touched {
  readonly steps: ReadonlySet<string>;
  readonly started: ReadonlySet<string>;
}

/**
 * References point backwards, so one pass from the end finds nearly all; a reward given after the end of its rollout needs
 * another.
 */
function touchedIds(events: readonly TreeEvent[], chosen: ReadonlySet<string>): Touched {
  const steps = new Set<string>();
  const started = new Set(chosen);
  const backwards = [...events].reverse();
  for (let before = -1; before !== steps.size + started.size; ) {
    before = steps.size + started.size;
    for (const event of backwards) {
      if (event.type === 'TreeOpened') steps.add(event.data.rootStepId);
      if (event.type === 'RolloutFinished' && chosen.has(event.data.rolloutId)) steps.add(event.data.leafStepId);
      if (event.type === 'RolloutStarted' && started.has(event.data.rolloutId)) steps.add(event.data.fromStepId);
      if (event.type === 'StepTaken' && steps.has(event.data.stepId)) {
        steps.add(event.data.parentStepId);
        if (event.data.rolloutId !== null) started.add(event.data.rolloutId);
      }
      if (event.type === 'RewardAssigned' && event.data.rolloutId !== null && isOnKept(event, steps, chosen))
        started.add(event.data.rolloutId);
    }
  }
  return { steps, started };
}

function isOnKept(
  { data }: Extract<TreeEvent, { type: 'RewardAssigned' }>,
  steps: ReadonlySet<string>,
  chosen: ReadonlySet<string>,
): boolean {
  return data.stepId === null ? data.rolloutId !== null && chosen.has(data.rolloutId) : steps.has(data.stepId);
}

/** A cancelled call names the step that its reply would be, of which nobody may have been shown anything. */
function isKeptCall(
  { data }: Extract<TreeEvent, { type: 'CallCaptured' }>,
  steps: ReadonlySet<string>,
  chosen: ReadonlySet<string>,
): boolean {
  if (data.stepId !== null && steps.has(data.stepId)) return true;
  return (data.stepId === null || data.outcome === 'cancelled') && chosen.has(data.rolloutId);
}

function refuseUnknown(event: never): never {
  throw new TypeError(`a tree event of a type without a rule: ${JSON.stringify(event)}`);
}
