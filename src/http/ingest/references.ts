import type { Envelope } from '../../events/envelope.ts';
import { growsTree } from '../../projections/owners/scope-of-others.ts';
import type { Declaration, DeclaredKind } from '../../projections/read-declarations.ts';

/** Something an event names that must be on record before it. */
export interface Reference {
  readonly kind: DeclaredKind;
  readonly id: string;
  /** The field that names it. */
  readonly field: string;
  /** The tree it must belong to; null for what belongs to none. */
  readonly treeId: string | null;
  /** For the parent of a step: the depth it must have. */
  readonly depth?: number;
  /** For the step of a reward that names a rollout too: that rollout, which must have taken it. */
  readonly takenBy?: string;
  /** For a tree that the event adds to: the run that it names, which must be the tree's. */
  readonly runId?: string;
}

/**
 * Lists what an event refers to, by the rules of the projections: what names something that is not on record is refused at the
 * endpoint and not left to their quarantine. What contradicts the record otherwise is met there alone: a revision whose steps are
 * not on its paths, an outcome of a revision after the other one.
 */
export function referencesOf(event: Envelope): readonly Reference[] {
  switch (event.type) {
    case 'ExperimentDeclared':
    case 'RunStarted':
      return [];
    case 'TrainingDeclared':
    case 'BatchPlanned':
    case 'SampleRejected':
    case 'BatchLeased':
    case 'LeaseExpired':
    case 'BatchReturned':
    case 'BatchAcked':
    case 'BatchAbandoned':
    case 'CheckpointSaved':
    case 'PolicyUpdated':
      return []; // only the lease API writes these: the endpoint refuses them before it looks at references
    case 'DatasetReleased':
      return event.data.runs.map((id, i) => ({ kind: 'run', id, field: `data.runs.${i}`, treeId: null }));
    case 'DatasetSourced':
    case 'DatasetWithdrawn':
      return [{ kind: 'dataset', id: event.data.datasetId, field: 'data.datasetId', treeId: null }];
    case 'RunResumed':
    case 'TreeResumed':
    case 'SpanReceived':
    case 'StageFinished':
      return []; // the endpoint refuses them before it looks at references
    case 'RunFinished':
    case 'MetricRecorded':
    case 'PayloadForgotten':
    case 'EvaluationFinished':
    case 'ReplayFinished':
    case 'TreeOpened':
    case 'RenderSpecRegistered':
      return [{ kind: 'run', id: event.data.runId, field: 'data.runId', treeId: null }];
    case 'RolloutStarted':
      return [tree(event), step(event.data, 'fromStepId', event.data.fromStepId)];
    case 'StepTaken': {
      const parent = { ...step(event.data, 'parentStepId', event.data.parentStepId), depth: event.data.depth - 1 };
      return [tree(event), parent, ...rollout(event.data)];
    }
    case 'CallCaptured':
      return [tree(event), step(event.data, 'parentStepId', event.data.parentStepId), ...rollout(event.data)];
    case 'ToolCalled':
    case 'ReplayDiverged':
      return [tree(event), step(event.data, 'stepId', event.data.stepId)];
    case 'NodeAdded': {
      const { stepId, parentStepId } = event.data;
      return [tree(event), step(event.data, 'stepId', stepId), step(event.data, 'parentStepId', parentStepId)];
    }
    case 'NodeExpanded':
    case 'RepliesSampled':
      return [tree(event), step(event.data, 'stepId', event.data.stepId)];
    case 'SegmentRendered':
      return [renderSpec(event.data)];
    case 'HistoryRendered': {
      const { treeId, stepId, prefix, factorChosenBy, segments } = event.data;
      return [
        ...[tree(event), step(event.data, 'stepId', stepId), renderSpec(event.data)],
        ...(prefix ? [{ kind: 'history', id: prefix.stepId, field: 'data.prefix.stepId', treeId } as const] : []),
        ...(factorChosenBy === null ? [] : [step(event.data, 'factorChosenBy', factorChosenBy)]),
        ...segments.map((id, i) => ({ kind: 'segment', id, field: `data.segments.${i}`, treeId: null }) as const),
      ];
    }
    case 'PromptShown': {
      const { treeId, stepId, base, messages } = event.data;
      const named = messages.flatMap(({ parts }, i) =>
        parts.flatMap((part, j) =>
          part.kind === 'step' ? [step(event.data, `messages.${i}.parts.${j}.stepId`, part.stepId)] : [],
        ),
      );
      return [
        ...[tree(event), step(event.data, 'stepId', stepId), ...named],
        ...(base ? [{ kind: 'prompt', id: base.stepId, field: 'data.base.stepId', treeId } as const] : []),
      ];
    }
    case 'RewardAssigned': {
      const { stepId, rolloutId } = event.data;
      const takenBy = rolloutId === null ? {} : { takenBy: rolloutId };
      const steps = stepId === null ? [] : [{ ...step(event.data, 'stepId', stepId), ...takenBy }];
      return [tree(event), ...steps, ...rollout(event.data)];
    }
    case 'RewardRevised':
      return [tree(event), { kind: 'reward', id: event.data.rewardId, field: 'data.rewardId', treeId: event.data.treeId }];
    case 'ValueBackedUp':
      return [
        tree(event),
        step(event.data, 'leafStepId', event.data.leafStepId),
        ...event.data.path.map((id, i) => step(event.data, `path.${i}`, id)),
      ];
    case 'RolloutFinished':
      return [tree(event), ...rollout(event.data), step(event.data, 'leafStepId', event.data.leafStepId)];
    case 'TreeClosed':
      return [tree(event)];
    case 'StepJudged': {
      const { leafStepId, stepId } = event.data;
      return [tree(event), step(event.data, 'leafStepId', leafStepId), step(event.data, 'stepId', stepId)];
    }
    case 'RevisionComposed':
      return [
        tree(event),
        ...(['goodLeafStepId', 'badLeafStepId', 'branchStepId', 'transitionStepId'] as const).map((field) =>
          step(event.data, field, event.data[field]),
        ),
      ];
    case 'RevisionVerified':
      return [tree(event), revision(event.data)];
    case 'RevisionRejected': {
      const { stepId } = event.data;
      return [tree(event), revision(event.data), ...(stepId === null ? [] : [step(event.data, 'stepId', stepId)])];
    }
    case 'AnnotationAdded':
      return [tree(event), ...subjectOf(event.data)];
    case 'AnnotationRetracted': {
      const { annotationId: id, treeId } = event.data;
      return [tree(event), { kind: 'annotation', id, field: 'data.annotationId', treeId }];
    }
    default:
      return event satisfies never;
  }
}

/** Lists what an event declares, for the events after it. */
export function declarationsOf(event: Envelope): readonly Declaration[] {
  switch (event.type) {
    case 'RunStarted':
      return [{ kind: 'run', id: event.data.runId, treeId: null, depth: null }];
    case 'TreeOpened':
      return [
        { kind: 'tree', id: event.data.treeId, treeId: null, depth: null, runId: event.data.runId },
        { kind: 'step', id: event.data.rootStepId, treeId: event.data.treeId, depth: 0 },
      ];
    case 'RolloutStarted':
      return [{ kind: 'rollout', id: event.data.rolloutId, treeId: event.data.treeId, depth: null }];
    case 'StepTaken':
      return [
        {
          kind: 'step',
          id: event.data.stepId,
          treeId: event.data.treeId,
          depth: event.data.depth,
          rolloutId: event.data.rolloutId,
        },
      ];
    case 'CallCaptured': // the prompt of its step comes before that
      return event.data.stepId === null ? [] : [{ kind: 'step', id: event.data.stepId, treeId: event.data.treeId, depth: null }];
    case 'DatasetReleased':
      return [{ kind: 'dataset', id: event.data.datasetId, treeId: null, depth: null }];
    case 'RewardAssigned':
      return [{ kind: 'reward', id: event.data.rewardId, treeId: event.data.treeId, depth: null }];
    case 'RenderSpecRegistered':
      return [{ kind: 'render-spec', id: event.data.renderSpecId, treeId: null, depth: null }];
    case 'SegmentRendered':
      return [{ kind: 'segment', id: event.data.segmentId, treeId: null, depth: null }];
    case 'HistoryRendered':
      return [{ kind: 'history', id: event.data.stepId, treeId: event.data.treeId, depth: null }];
    case 'PromptShown':
      return [{ kind: 'prompt', id: event.data.judgementId ?? event.data.stepId, treeId: event.data.treeId, depth: null }];
    case 'AnnotationAdded':
      return [{ kind: 'annotation', id: event.data.annotationId, treeId: event.data.treeId, depth: null }];
    case 'RevisionComposed':
      return [{ kind: 'revision', id: event.data.revisionId, treeId: event.data.treeId, depth: null }];
    default:
      return [];
  }
}

function renderSpec({ renderSpecId }: { readonly renderSpecId: string }): Reference {
  return { kind: 'render-spec', id: renderSpecId, field: 'data.renderSpecId', treeId: null };
}

/** The tree in whose stream an event is. */
function tree(event: Envelope): Reference {
  const reference = { kind: 'tree', id: event.stream, field: 'data.treeId', treeId: null } as const;
  return growsTree(event) ? { ...reference, runId: event.correlationId } : reference;
}

function step(data: { readonly treeId: string }, field: string, id: string): Reference {
  return { kind: 'step', id, field: `data.${field}`, treeId: data.treeId };
}

function revision({ revisionId, treeId }: { readonly revisionId: string; readonly treeId: string }): Reference {
  return { kind: 'revision', id: revisionId, field: 'data.revisionId', treeId };
}

function subjectOf({ treeId, subject }: Envelope<'AnnotationAdded'>['data']): readonly Reference[] {
  switch (subject.kind) {
    case 'step':
      return [{ kind: 'step', id: subject.stepId, field: 'data.subject.stepId', treeId }];
    case 'rollout':
      return [{ kind: 'rollout', id: subject.rolloutId, field: 'data.subject.rolloutId', treeId }];
    case 'revision':
      return [{ kind: 'revision', id: subject.revisionId, field: 'data.subject.revisionId', treeId }];
    case 'row':
      return [{ kind: 'dataset', id: subject.datasetId, field: 'data.subject.datasetId', treeId: null }];
    case 'tree':
      return [];
    default:
      return subject satisfies never;
  }
}

function rollout(data: { readonly treeId: string; readonly rolloutId: string | null }): readonly Reference[] {
  if (data.rolloutId === null) return [];
  return [{ kind: 'rollout', id: data.rolloutId, field: 'data.rolloutId', treeId: data.treeId }];
}
