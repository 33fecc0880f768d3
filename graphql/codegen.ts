import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { codegen } from '@graphql-codegen/core';
import * as typescript from '@graphql-codegen/typescript';
import * as typescriptResolvers from '@graphql-codegen/typescript-resolvers';
import { buildSchema, parse } from 'graphql';
import { readTypeDefs } from './type-defs.ts';

const FILE = fileURLToPath(new URL('./generated/types.ts', import.meta.url));
const READ = '../../src/projections';

/** The record behind each type. Types that are not named here are plain values whose fields are their properties. */
const mappers = {
  Query: '../models.ts#Root',
  Reached: '../models.ts#ReachedModel',
  LargeText: '../large-text.ts#LargeTextModel',
  EventDelivery: '../live/event-delivery-model.ts#EventDeliveryModel',
  Experiment: `${READ}/runs/read-experiments.ts#ExperimentRecord`,
  ExperimentArm: '../../src/usecases/experiment/report.ts#RecordedArm',
  ExperimentStage: '../../src/usecases/experiment/report.ts#RecordedStage',
  ArmResult: '../../src/usecases/experiment/report.ts#ArmResult as ArmResultModel',
  Run: `${READ}/runs/read-runs.ts#RunRecord`,
  ImageTotals: '../models.ts#ImageTotalsModel',
  RunEnvironment: '../models.ts#RunEnvironmentModel',
  ForkOrigin: `${READ}/runs/read-forks.ts#ForkOrigin as ForkOriginModel`,
  Evaluation: `${READ}/evaluations/read-evaluations.ts#EvaluationRecord`,
  Verification: '../../src/usecases/verify/verification.ts#StoredVerification',
  VerificationConnection: '../connection.ts#Connection<StoredVerification>',
  Replay: `${READ}/replays/read-replays.ts#ReplayRecord`,
  TrainedOn: `${READ}/evaluations/read-evaluations.ts#TrainedOnRecord`,
  Tree: `${READ}/step-tree/read-trees.ts#TreeRecord`,
  TreeOutline: `${READ}/step-tree/read-steps.ts#Outline`,
  OutlineBackUps: '../models.ts#OutlineBackUpsModel',
  Step: `${READ}/step-tree/read-steps.ts#StepRecord`,
  CapturedCall: `${READ}/journal/read-captured-calls.ts#CapturedCall as CapturedCallRecord`,
  CapturedChoice: '../models.ts#CapturedChoiceModel',
  CapturedCallConnection: '../connection.ts#Connection<CapturedCallRecord>',
  Rollout: `${READ}/step-tree/read-rollouts.ts#RolloutRecord`,
  ToolCall: `${READ}/step-tree/read-tool-calls.ts#ToolCallRecord`,
  Divergence: `${READ}/step-tree/read-tool-calls.ts#DivergenceRecord`,
  Trajectory: `${READ}/rewards/read-trajectories.ts#TrajectoryRecord`,
  Reward: `${READ}/rewards/read-rewards.ts#RewardRecord`,
  RewardRevision: `${READ}/rewards/read-rewards.ts#RewardRevisionRecord`,
  Anomaly: `${READ}/journal/read-anomalies.ts#AnomalyRecord`,
  QuarantinedRecord: `${READ}/read-quarantine.ts#QuarantineRecord`,
  SearchStatistics: `${READ}/search-statistics/read-statistics.ts#NodeStatistics`,
  Revision: `${READ}/revisions/read-revisions.ts#RevisionRecord`,
  RevisionTurn: '../models.ts#RevisionTurnModel',
  Judgement: `${READ}/revisions/read-judgements.ts#JudgementRecord`,
  Dataset: `${READ}/datasets/read-datasets.ts#DatasetRecord`,
  DatasetExample: `${READ}/dataset-sources/read-examples.ts#ExampleRecord`,
  HistoryImage: `${READ}/images/read-history-images.ts#HistoryImageRecord`,
  HistoryImageConnection: '../connection.ts#Connection<HistoryImageRecord>',
  HistoryAtFactor: `${READ}/images/history-at-factors.ts#HistoryAtFactor as HistoryAtFactorModel`,
  HistorySegment: '../models.ts#HistorySegmentModel',
  Prompt: '../models.ts#PromptModel',
  PromptMessage: '../models.ts#PromptMessageModel',
  PromptPart: '../models.ts#PromptPartModel',
  RequestedTool: '../models.ts#RequestedToolModel',
  Drift: `${READ}/prompts/read-drift.ts#DriftRecord`,
  RenderSpec: `${READ}/images/read-render-specs.ts#RenderSpecRecord`,
  TrainedPolicy: `${READ}/training-pool/read-lineages.ts#LineageRecord`,
  TrainingDeclaration: '../../src/usecases/train/declaration/recorded-declaration.ts#RecordedDeclaration',
  TrainingWaiting: '../../src/usecases/train/waiting/why-waiting.ts#WaitingReason',
  TraceEvent: '../../src/projections/lineage/trace-events.ts#EventPlace',
  Trace: '../../src/usecases/lineage/trace-record.ts#Trace as TraceModel',
  Touched: '../../src/projections/lineage/touched.ts#Touched as TouchedModel',
  Ledger: `${READ}/training-pool/read-ledger.ts#Ledger as LedgerRecord`,
  DiscardedSamples: '../models.ts#DiscardedSamplesModel',
  UpdateOutcome: `${READ}/training-pool/read-batch-outcomes.ts#BatchOutcome`,
  PolicyUpdate: `${READ}/training-pool/read-policy-updates.ts#PolicyUpdateRecord`,
  Batch: `${READ}/training-pool/read-batches.ts#BatchRecord`,
  BatchAbandonment: `${READ}/training-pool/read-batches.ts#AbandonmentRecord`,
  BatchLease: `${READ}/training-pool/read-batches.ts#LeaseRecord`,
  TrainingSample: `${READ}/training-pool/read-samples.ts#SampleRecord`,
  BatchEstimates: '../../src/usecases/train/estimates/recompute-advantages.ts#BatchEstimates as BatchEstimatesModel',
  SampleEstimate: '../../src/usecases/train/estimates/recompute-advantages.ts#SampleEstimate as SampleEstimateModel',
  StepEstimate: '../../src/usecases/train/estimates/recompute-advantages.ts#StepEstimate as StepEstimateModel',
  BatchActor: `${READ}/training-pool/read-actors.ts#ActorRecord`,
  PolicyVersion: '../models.ts#PolicyVersionModel',
  PackedArray: '../../src/events/schemas/values.ts#Packed',
  Annotation: `${READ}/annotations/read-annotations.ts#AnnotationRecord`,
  AnnotationConnection: '../connection.ts#Connection<AnnotationRecord>',
  AnnotationsRecorded: '../models.ts#AnnotationsRecordedModel',
  Mutation: '../models.ts#Root',
  ExperimentConnection: '../connection.ts#Connection<ExperimentRecord>',
  RunConnection: '../connection.ts#Connection<RunRecord>',
  TreeConnection: '../connection.ts#Connection<TreeRecord>',
  RolloutConnection: '../connection.ts#Connection<RolloutRecord>',
  TrajectoryConnection: '../connection.ts#Connection<TrajectoryRecord>',
  RevisionConnection: '../connection.ts#Connection<RevisionRecord>',
  DatasetConnection: '../connection.ts#Connection<DatasetRecord>',
  DatasetExampleConnection: '../connection.ts#Connection<ExampleRecord>',
  PolicyUpdateConnection: '../connection.ts#Connection<PolicyUpdateRecord>',
  BatchConnection: '../connection.ts#Connection<BatchRecord>',
  StepConnection: '../models.ts#StepMatches',
  StepEdge: '../models.ts#StepMatch',
  ToolCallConnection: '../connection.ts#CountedConnection<ToolCallRecord>',
  TrainingSampleConnection: '../connection.ts#CountedConnection<SampleRecord>',
  TaskConnection: '../connection.ts#Connection<TaskRecord>',
  Task: `${READ}/analysis/choose-tasks.ts#TaskRecord`,
  Aggregate: `${READ}/analysis/aggregate.ts#Aggregate as AggregateModel`,
  PairedDifference: '../../src/domain/evaluation/compare-paired.ts#PairedComparison',
  RunComparison: '../models.ts#RunComparisonModel',
  TrajectoryDivergence: '../models.ts#TrajectoryDivergenceModel',
  AnomalyConnection: '../connection.ts#Connection<AnomalyRecord>',
  QuarantineConnection: '../connection.ts#Connection<QuarantineRecord>',
  ReplayConnection: '../connection.ts#Connection<ReplayRecord>',
};

/** Writes the TypeScript of the schema: the types of arguments, and of resolvers over the records of the read side. */
async function generateTypes(): Promise<string> {
  const typeDefs = await readTypeDefs();
  const body = await codegen({
    filename: FILE,
    documents: [],
    schema: parse(typeDefs),
    schemaAst: buildSchema(typeDefs),
    plugins: [{ typescript: {} }, { 'typescript-resolvers': {} }],
    pluginMap: { typescript, 'typescript-resolvers': typescriptResolvers },
    config: {
      enumsAsTypes: true,
      useTypeImports: true,
      immutableTypes: true,
      disableDescriptions: true,
      skipTypename: true,
      mappers,
      contextType: '../context.ts#Context',
      scalars: {
        ID: 'string',
        DateTime: { input: 'Date', output: 'Date' },
        JSON: 'unknown',
        SafeInt: 'number',
      },
      inputMaybeValue: 'T | null | undefined',
    },
  });
  return `// Written by graphql/codegen.ts from graphql/schema; \`npm run codegen\` writes it again.\n${body}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const types = await generateTypes();
  // One that is up to date keeps its time, so that an incremental check takes it as unchanged.
  if ((await readFile(FILE, 'utf8').catch(() => '')) !== types) {
    await mkdir(dirname(FILE), { recursive: true });
    await writeFile(FILE, types);
  }
}
