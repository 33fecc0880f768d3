import type { z } from 'zod';
import * as annotations from './schemas/annotations.ts';
import * as calls from './schemas/calls.ts';
import * as datasets from './schemas/datasets.ts';
import * as evaluations from './schemas/evaluations.ts';
import * as images from './schemas/images.ts';
import * as leases from './schemas/leases.ts';
import * as prompts from './schemas/prompts.ts';
import * as replays from './schemas/replays.ts';
import * as revisions from './schemas/revisions.ts';
import * as runs from './schemas/runs.ts';
import * as searches from './schemas/searches.ts';
import * as training from './schemas/training.ts';
import * as trees from './schemas/trees.ts';

export const TOPICS = ['runs', 'trees', 'images', 'datasets', 'training'] as const;
export type Topic = (typeof TOPICS)[number];

/**
 * Every event type: its topic, its current schema version, the field of `data` that names its stream (and log key; `streamOf`),
 * what names the entity of which a stream holds one event of the type (`entityOf`): a field, or several of which the last names it to
 * people; null where each event is a fact of its own, of which a stream may state equal ones; and its schema. Events are for ever: a
 * changed shape is a new version with an upcaster and a frozen fixture, a changed meaning a new type.
 */
export const catalogue = {
  ExperimentDeclared: {
    topic: 'runs',
    version: 1,
    stream: 'experimentId',
    entity: 'experimentId',
    data: runs.experimentDeclared,
  },
  StageFinished: { topic: 'runs', version: 1, stream: 'experimentId', entity: null, data: runs.stageFinished },
  RunStarted: { topic: 'runs', version: 1, stream: 'runId', entity: 'runId', data: runs.runStarted },
  RunResumed: { topic: 'runs', version: 1, stream: 'runId', entity: 'epoch', data: runs.runResumed },
  RunFinished: { topic: 'runs', version: 1, stream: 'runId', entity: 'runId', data: runs.runFinished },
  RecorderJoined: { topic: 'runs', version: 1, stream: 'runId', entity: 'recorderId', data: runs.recorderJoined },
  RecorderLeft: { topic: 'runs', version: 1, stream: 'runId', entity: 'recorderId', data: runs.recorderLeft },
  MetricRecorded: { topic: 'runs', version: 1, stream: 'runId', entity: null, data: runs.metricRecorded },
  PayloadForgotten: { topic: 'runs', version: 1, stream: 'runId', entity: null, data: runs.payloadForgotten },
  EvaluationFinished: { topic: 'runs', version: 1, stream: 'runId', entity: 'runId', data: evaluations.evaluationFinished },
  RenderSpecRegistered: { topic: 'runs', version: 1, stream: 'runId', entity: 'renderSpecId', data: images.renderSpecRegistered },
  ReplayFinished: { topic: 'runs', version: 1, stream: 'runId', entity: 'replayId', data: replays.replayFinished },
  TreeOpened: { topic: 'trees', version: 1, stream: 'treeId', entity: 'treeId', data: trees.treeOpened },
  TreeResumed: { topic: 'trees', version: 1, stream: 'treeId', entity: 'epoch', data: trees.treeResumed },
  RolloutStarted: { topic: 'trees', version: 1, stream: 'treeId', entity: 'rolloutId', data: trees.rolloutStarted },
  StepTaken: { topic: 'trees', version: 1, stream: 'treeId', entity: 'stepId', data: trees.stepTaken },
  PromptShown: { topic: 'trees', version: 1, stream: 'treeId', entity: 'stepId', data: prompts.promptShown },
  SpanReceived: { topic: 'trees', version: 1, stream: 'treeId', entity: 'spanId', data: calls.spanReceived },
  CallCaptured: { topic: 'trees', version: 1, stream: 'treeId', entity: 'callId', data: calls.callCaptured },
  ToolCalled: { topic: 'trees', version: 1, stream: 'treeId', entity: 'toolCallId', data: trees.toolCalled },
  RewardAssigned: { topic: 'trees', version: 1, stream: 'treeId', entity: 'rewardId', data: trees.rewardAssigned },
  RewardRevised: { topic: 'trees', version: 1, stream: 'treeId', entity: null, data: trees.rewardRevised },
  NodeAdded: { topic: 'trees', version: 1, stream: 'treeId', entity: 'stepId', data: searches.nodeAdded },
  RepliesSampled: { topic: 'trees', version: 1, stream: 'treeId', entity: 'stepId', data: searches.repliesSampled },
  NodeExpanded: { topic: 'trees', version: 1, stream: 'treeId', entity: 'stepId', data: searches.nodeExpanded },
  ValueBackedUp: { topic: 'trees', version: 1, stream: 'treeId', entity: null, data: searches.valueBackedUp },
  ReplayDiverged: { topic: 'trees', version: 1, stream: 'treeId', entity: null, data: trees.replayDiverged },
  RolloutFinished: { topic: 'trees', version: 1, stream: 'treeId', entity: 'rolloutId', data: trees.rolloutFinished },
  TreeClosed: { topic: 'trees', version: 1, stream: 'treeId', entity: 'treeId', data: trees.treeClosed },
  HistoryRendered: { topic: 'trees', version: 1, stream: 'treeId', entity: 'stepId', data: images.historyRendered },
  StepJudged: { topic: 'trees', version: 1, stream: 'treeId', entity: null, data: revisions.stepJudged },
  RevisionComposed: { topic: 'trees', version: 1, stream: 'treeId', entity: 'revisionId', data: revisions.revisionComposed },
  RevisionVerified: { topic: 'trees', version: 1, stream: 'treeId', entity: 'revisionId', data: revisions.revisionVerified },
  RevisionRejected: { topic: 'trees', version: 1, stream: 'treeId', entity: 'revisionId', data: revisions.revisionRejected },
  AnnotationAdded: { topic: 'trees', version: 1, stream: 'treeId', entity: 'annotationId', data: annotations.annotationAdded },
  AnnotationRetracted: {
    topic: 'trees',
    version: 1,
    stream: 'treeId',
    entity: 'annotationId',
    data: annotations.annotationRetracted,
  },
  SegmentRendered: { topic: 'images', version: 1, stream: 'segmentId', entity: 'segmentId', data: images.segmentRendered },
  DatasetReleased: { topic: 'datasets', version: 1, stream: 'datasetId', entity: 'datasetId', data: datasets.datasetReleased },
  DatasetSourced: {
    topic: 'datasets',
    version: 1,
    stream: 'datasetId',
    entity: ['sha256', 'part'],
    data: datasets.datasetSourced,
  },
  DatasetWithdrawn: { topic: 'datasets', version: 1, stream: 'datasetId', entity: 'datasetId', data: datasets.datasetWithdrawn },
  TrainingDeclared: { topic: 'training', version: 1, stream: 'lineageId', entity: 'lineageId', data: training.trainingDeclared },
  BatchPlanned: {
    topic: 'training',
    version: 1,
    stream: 'lineageId',
    entity: ['manifestHash', 'batchId'],
    data: training.batchPlanned,
  },
  SampleRejected: {
    topic: 'training',
    version: 1,
    stream: 'lineageId',
    entity: ['groupId', 'rolloutId'],
    data: training.sampleRejected,
  },
  BatchLeased: { topic: 'training', version: 1, stream: 'lineageId', entity: 'leaseId', data: leases.batchLeased },
  LeaseExpired: { topic: 'training', version: 1, stream: 'lineageId', entity: 'leaseId', data: leases.leaseExpired },
  BatchReturned: { topic: 'training', version: 1, stream: 'lineageId', entity: 'leaseId', data: leases.batchReturned },
  BatchAcked: { topic: 'training', version: 1, stream: 'lineageId', entity: 'batchId', data: leases.batchAcked },
  BatchAbandoned: { topic: 'training', version: 1, stream: 'lineageId', entity: 'batchId', data: leases.batchAbandoned },
  CheckpointSaved: { topic: 'training', version: 1, stream: 'lineageId', entity: 'checkpointId', data: training.checkpointSaved },
  PolicyUpdated: { topic: 'training', version: 1, stream: 'lineageId', entity: 'version', data: training.policyUpdated },
} as const satisfies Record<
  string,
  { topic: Topic; version: number; stream: string; entity: string | readonly string[] | null; data: z.ZodType }
>;

export type EventType = keyof typeof catalogue;
export type DataOf<T extends EventType> = z.infer<(typeof catalogue)[T]['data']>;

/** Returns whether a name is an event type of the catalogue. */
export function isEventType(type: string): type is EventType {
  return Object.hasOwn(catalogue, type);
}
