import { type GraphQLSchema, GraphQLString, getNamedType, isObjectType } from 'graphql';
import { createSchema } from 'graphql-yoga';
import { scopedToMoment } from './as-of/scoped-to-moment.ts';
import type { Context } from './context.ts';
import { textOf } from './large-text.ts';
import { Aggregate, PairedDifference } from './resolvers/analysis.ts';
import { Annotation, AnnotationsRecorded } from './resolvers/annotations.ts';
import { CapturedCall, CapturedChoice } from './resolvers/calls.ts';
import { Dataset, DatasetExample } from './resolvers/datasets.ts';
import { BatchActor, BatchEstimates, SampleEstimate, StepEstimate } from './resolvers/estimates.ts';
import { Evaluation, TrainedOn } from './resolvers/evaluations.ts';
import { ArmResult, Experiment, ExperimentStage } from './resolvers/experiments.ts';
import { HistoryAtFactor, HistoryImage, HistorySegment, RenderSpec } from './resolvers/images.ts';
import { LargeText } from './resolvers/large-texts.ts';
import { Touched, TraceEvent } from './resolvers/lineage.ts';
import { QuarantinedRecord, Subscription } from './resolvers/log.ts';
import { Mutation } from './resolvers/mutation.ts';
import { TreeOutline } from './resolvers/outline.ts';
import { Drift, PromptPart, RequestedTool } from './resolvers/prompts.ts';
import { Query } from './resolvers/query.ts';
import { Replay } from './resolvers/replays.ts';
import { Judgement, Revision, RevisionTurn } from './resolvers/revisions.ts';
import { Rollout, Trajectory } from './resolvers/rollouts.ts';
import { ForkOrigin, Run, RunEnvironment } from './resolvers/runs.ts';
import { DateTime, JSONValue, SafeInt } from './resolvers/scalars.ts';
import { StepEdge } from './resolvers/searchable-lists.ts';
import { PackedArray, Reward, SearchStatistics, Step, ToolCall } from './resolvers/steps.ts';
import {
  Batch,
  DiscardedSamples,
  Ledger,
  PolicyUpdate,
  PolicyVersion,
  TrainedPolicy,
  TrainingDeclaration,
  TrainingSample,
  TrainingWaiting,
  UpdateOutcome,
} from './resolvers/training.ts';
import { Divergence, Task, Tree } from './resolvers/trees.ts';
import { Verification } from './resolvers/verifications.ts';
import { readTypeDefs } from './type-defs.ts';

/**
 * Makes the executable schema: the SDL of `schema/` and its resolvers. Fields without a resolver are properties of their record.
 */
export async function createExecutableSchema(): Promise<GraphQLSchema> {
  const resolvers = scopedToMoment({
    DateTime,
    SafeInt,
    JSON: JSONValue,
    Query,
    Mutation,
    Subscription,
    Experiment,
    ExperimentStage,
    ArmResult,
    Run,
    RunEnvironment,
    ForkOrigin,
    Evaluation,
    Replay,
    Verification,
    TrainedOn,
    Tree,
    TreeOutline,
    Task,
    StepEdge,
    LargeText,
    CapturedCall,
    CapturedChoice,
    Aggregate,
    PairedDifference,
    Divergence,
    Step,
    SearchStatistics,
    ToolCall,
    PackedArray,
    Reward,
    Rollout,
    Trajectory,
    Revision,
    Judgement,
    RevisionTurn,
    Dataset,
    DatasetExample,
    Annotation,
    AnnotationsRecorded,
    Drift,
    PromptPart,
    RequestedTool,
    HistoryImage,
    HistoryAtFactor,
    HistorySegment,
    RenderSpec,
    QuarantinedRecord,
    Touched,
    TraceEvent,
    TrainedPolicy,
    TrainingDeclaration,
    TrainingWaiting,
    Ledger,
    DiscardedSamples,
    PolicyUpdate,
    UpdateOutcome,
    PolicyVersion,
    Batch,
    TrainingSample,
    BatchActor,
    BatchEstimates,
    SampleEstimate,
    StepEstimate,
  });
  return resolveLargeTexts(createSchema<Context>({ typeDefs: await readTypeDefs(), resolvers }));
}

/** Has texts of what may have large ones read from the blob store where they are large. */
function resolveLargeTexts(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap()).filter(isObjectType)) {
    const fields = type.getFields();
    if (!fields.largeTexts) continue;
    for (const field of Object.values(fields))
      if (!field.resolve && getNamedType(field.type) === GraphQLString) field.resolve = textOf(field.name);
  }
  return schema;
}
