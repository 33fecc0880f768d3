import DataLoader from 'dataloader';
import type { Db } from '../../src/postgres/database.ts';
import {
  countExamples,
  type ExampleFilter,
  readExamplePages,
  readPoliciesOfDatasets,
} from '../../src/projections/dataset-sources/read-examples.ts';
import {
  countDatasets,
  type DatasetFilter,
  readDatasetPages,
  readDatasetsById,
} from '../../src/projections/datasets/read-datasets.ts';
import { readEvaluationsOfDatasets } from '../../src/projections/evaluations/read-evaluations.ts';
import {
  countHistoryImages,
  readHistoryImagePages,
  readHistoryImages,
} from '../../src/projections/images/read-history-images.ts';
import { readImageTotalsOfRollouts } from '../../src/projections/images/read-image-totals.ts';
import { readRenderSpecs } from '../../src/projections/images/read-render-specs.ts';
import { readHistories, readSegments } from '../../src/projections/images/read-segments.ts';
import { readReplaysOfPolicies } from '../../src/projections/replays/read-replays.ts';
import { readJudgements } from '../../src/projections/revisions/read-judgements.ts';
import {
  countRevisions,
  type RevisionFilter,
  readRevisionPages,
  readRevisionsById,
  readRevisionsNamed,
} from '../../src/projections/revisions/read-revisions.ts';
import { readSearchedTrees, type SearchedTree } from '../../src/projections/revisions/read-searched-trees.ts';
import {
  readReturns,
  readRewardRevisions,
  readRewardsOfRollouts,
  readRewardsOfSteps,
} from '../../src/projections/rewards/read-rewards.ts';
import {
  countTrajectories,
  readTrajectories,
  readTrajectoriesById,
  readTrajectoriesNamed,
  type TrajectoryFilter,
} from '../../src/projections/rewards/read-trajectories.ts';
import { readExperimentsById } from '../../src/projections/runs/read-experiments.ts';
import { readForksOfSteps } from '../../src/projections/runs/read-forks.ts';
import { countRuns, type RunFilter, readRuns, readRunsById } from '../../src/projections/runs/read-runs.ts';
import { countBackups } from '../../src/projections/search-statistics/read-statistics.ts';
import {
  countRollouts,
  type RolloutFilter,
  readRollouts,
  readRolloutsById,
  readRolloutsNamed,
  readRolloutsOfTrees,
} from '../../src/projections/step-tree/read-rollouts.ts';
import { readChildren, readLeaves, readStepsById, readTreeSizes } from '../../src/projections/step-tree/read-steps.ts';
import { readDivergences, readToolCalls } from '../../src/projections/step-tree/read-tool-calls.ts';
import { countTrees, readTrees, readTreesById, type TreeFilter } from '../../src/projections/step-tree/read-trees.ts';
import type { BlobReader } from '../../src/training/rows/read-blob.ts';
import type { LargeTexts } from '../large-text.ts';
import { many, manyOfTree, mapped, mappedOfTree, one, oneOfTree, treesAndIds } from './batch.ts';
import { createEstimateBudget, createPathBudget, createRedrawBudget, createSegmentBudget } from './budgets.ts';
import { createListLoader } from './list-loader.ts';
import { ListsOfTree } from './lists-of-tree.ts';
import { createMetricsLoader } from './metrics-loader.ts';
import { createPathLoader } from './path-loader.ts';
import { createStepLoader } from './step-loader.ts';
import { createTrainingLoaders } from './training-loaders.ts';
import { TreeStatistics } from './tree-statistics.ts';
import { createTreeStepsLoader } from './tree-steps-loader.ts';

export type Loaders = ReturnType<typeof createLoaders>;

/** Makes the loaders of one request. Each turns the keys that one level of a query asks for into one statement. */
export function createLoaders(
  db: Db,
  texts: LargeTexts,
  blobs: BlobReader,
  { estimateBudget, pathBudget } = { estimateBudget: createEstimateBudget(), pathBudget: createPathBudget() },
) {
  const step = createStepLoader(db);
  return {
    step,
    path: createPathLoader(db, step, pathBudget),
    pathBudget,
    stepsOfTree: createTreeStepsLoader(db),
    statistics: new TreeStatistics(db),
    runs: createListLoader(
      (filters: readonly RunFilter[], ordering, page) => readRuns(db, filters, ordering, page),
      (filters) => countRuns(db, filters),
    ),
    trees: createListLoader(
      (filters: readonly TreeFilter[], ordering, page) => readTrees(db, filters, ordering, page),
      (filters) => countTrees(db, filters),
    ),
    rollouts: createListLoader(
      (filters: readonly RolloutFilter[], ordering, page) => readRollouts(db, filters, ordering, page),
      (filters) => countRollouts(db, filters),
    ),
    trajectories: createListLoader(
      (filters: readonly TrajectoryFilter[], ordering, page) => readTrajectories(db, filters, ordering, page),
      (filters) => countTrajectories(db, filters),
    ),
    experiment: one(
      (ids) => readExperimentsById(db, ids),
      (e) => e.id,
    ),
    run: one(
      (ids) => readRunsById(db, ids),
      (r) => r.id,
    ),
    forksOfStep: manyOfTree(
      (steps) => readForksOfSteps(db, steps),
      (f) => f.stepId,
    ),
    replaysOfPolicy: many(
      (ids) => readReplaysOfPolicies(db, ids),
      (r) => r.policyId,
    ),
    tree: one(
      (ids) => readTreesById(db, ids),
      (t) => t.id,
    ),
    treeSize: one(
      (ids) => readTreeSizes(db, ids),
      (s) => s.treeId,
    ),
    backups: mapped((ids) => countBackups(db, ids)),
    stepById: one(
      (ids) => readStepsById(db, ids),
      (s) => s.id,
    ),
    rollout: oneOfTree((rollouts) => readRolloutsNamed(db, rollouts)),
    rolloutById: one(
      (ids) => readRolloutsById(db, ids),
      (r) => r.id,
    ),
    rolloutsOfTree: many(
      (ids) => readRolloutsOfTrees(db, ids),
      (r) => r.treeId,
    ),
    trajectory: oneOfTree((rollouts) => readTrajectoriesNamed(db, rollouts)),
    trajectoryById: one(
      (ids) => readTrajectoriesById(db, ids),
      (t) => t.id,
    ),
    return: oneOfTree((rollouts) => readReturns(db, rollouts)),
    children: manyOfTree(
      (steps) => readChildren(db, ...treesAndIds(steps)),
      (s) => s.parentId,
    ),
    leaves: many(
      (ids) => readLeaves(db, ids),
      (s) => s.treeId,
    ),
    toolCalls: new ListsOfTree(
      (steps) => readToolCalls(db, ...treesAndIds(steps)),
      (c) => c.stepId,
    ),
    revision: oneOfTree((revisions) => readRevisionsNamed(db, revisions)),
    revisionById: one(
      (ids) => readRevisionsById(db, ids),
      (r) => r.id,
    ),
    revisions: createListLoader(
      (filters: readonly RevisionFilter[], ordering, page) => readRevisionPages(db, filters, ordering, page),
      (filters) => countRevisions(db, filters),
    ),
    searchedTree: new DataLoader<string, SearchedTree | null>(async (ids) => {
      const unreadable = new Map<string, Error>(); // one whose text is lost keeps nobody from the others
      const trees = await readSearchedTrees(db, ids, async (blob, size, treeId) => {
        if (unreadable.has(treeId)) return '';
        return texts.bytes({ blob, size, mediaType: '' }).then(
          (bytes) => Buffer.from(bytes).toString('utf8'),
          (error: Error) => {
            unreadable.set(treeId, error);
            return '';
          },
        );
      });
      return ids.map((id) => unreadable.get(id) ?? trees.get(id) ?? null);
    }),
    historyImage: new ListsOfTree(
      (steps) => readHistoryImages(db, steps),
      (i) => i.stepId,
    ),
    historyImages: createListLoader(
      (runs: readonly string[], ordering, page) => readHistoryImagePages(db, runs, ordering, page),
      (runs) => countHistoryImages(db, runs),
    ),
    history: mappedOfTree((steps) => readHistories(db, steps)),
    segment: one(
      (ids) => readSegments(db, ids),
      (s) => s.id,
    ),
    segmentBudget: createSegmentBudget(),
    redrawBudget: createRedrawBudget(),
    renderSpec: one(
      (ids) => readRenderSpecs(db, ids),
      (s) => s.id,
    ),
    imageTotalsOfRollout: manyOfTree(
      (rollouts) => readImageTotalsOfRollouts(db, rollouts),
      (t) => t.ofId,
    ),
    judgements: many(
      (ids) => readJudgements(db, ids),
      (j) => j.treeId,
    ),
    dataset: one(
      (ids) => readDatasetsById(db, ids),
      (d) => d.id,
    ),
    datasets: createListLoader(
      (filters: readonly DatasetFilter[], ordering, page) => readDatasetPages(db, filters, ordering, page),
      (filters) => countDatasets(db, filters),
    ),
    examples: createListLoader(
      (filters: readonly ExampleFilter[], ordering, page) => readExamplePages(db, filters, ordering, page),
      (filters) => countExamples(db, filters),
    ),
    policiesOfDataset: many(
      (ids) => readPoliciesOfDatasets(db, ids),
      (p) => p.datasetId,
    ),
    evaluationsOfDataset: many(
      (ids) => readEvaluationsOfDatasets(db, ids),
      (e) => e.datasetId,
    ),
    metrics: createMetricsLoader(db),
    divergences: many(
      (ids) => readDivergences(db, ids),
      (d) => d.treeId,
    ),
    rewardsOfStep: new ListsOfTree(
      (steps) => readRewardsOfSteps(db, ...treesAndIds(steps)),
      (r) => r.stepId,
    ),
    rewardsOfRollout: manyOfTree(
      (rollouts) => readRewardsOfRollouts(db, ...treesAndIds(rollouts)),
      (r) => r.rolloutId,
    ),
    rewardRevisions: manyOfTree(
      (rewards) => readRewardRevisions(db, rewards),
      (r) => r.rewardId,
    ),
    ...createTrainingLoaders(db, blobs, estimateBudget),
  };
}
