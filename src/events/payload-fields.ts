import type { EventType } from './catalogue.ts';

/**
 * The fields of each event type's data that may hold personal or secret text: what models, environments, tools and judges said,
 * and tokens, which reveal it. Ids, numbers, hashes and names are none, nor is configuration. `*` stands for every item of a
 * list. They are sealed by the key of their stream, and are what `espalier forget` makes unreadable. A new type states its own
 * here.
 */
export const payloadFields: { readonly [Type in EventType]: readonly string[] } = {
  ExperimentDeclared: [],
  RunStarted: [],
  RunResumed: [],
  RunFinished: ['message'],
  MetricRecorded: [],
  PayloadForgotten: [],
  EvaluationFinished: [],
  RenderSpecRegistered: [],
  ReplayFinished: ['differences.*.recorded', 'differences.*.replayed'],
  TreeOpened: ['task.goal', 'instruction', 'observation', 'admissibleActions'],
  TreeResumed: [],
  RolloutStarted: [],
  StepTaken: ['response', 'thought', 'action', 'observation', 'tokens.ids', 'admissibleActions'],
  PromptShown: ['blocks.*', 'tools', 'tokens.ids', 'answer.tokens.ids'],
  ToolCalled: ['arguments', 'output'],
  RewardAssigned: [],
  RewardRevised: ['reason'],
  NodeAdded: [],
  RepliesSampled: ['replies'],
  NodeExpanded: ['reason'],
  ValueBackedUp: [],
  ReplayDiverged: ['recorded', 'replayed'],
  RolloutFinished: ['reason'],
  TreeClosed: [],
  HistoryRendered: [],
  StepJudged: ['reply'],
  RevisionComposed: ['reflection'],
  RevisionVerified: [],
  RevisionRejected: ['detail'],
  SegmentRendered: ['text'],
  DatasetReleased: [],
  DatasetSourced: [],
  DatasetWithdrawn: [],
  // The words of a trainer or an operator on a batch, and the settings of a training: no text of a rollout.
  TrainingDeclared: [],
  BatchPlanned: [],
  SampleRejected: [],
  BatchLeased: [],
  LeaseExpired: [],
  BatchReturned: [],
  BatchAcked: [],
  BatchAbandoned: [],
  CheckpointSaved: [],
  PolicyUpdated: [],
};
