import DataLoader from 'dataloader';
import type { Db } from '../../src/postgres/database.ts';
import { countExamples, readExamplePages, readPoliciesOfDatasets } from '../../src/projections/dataset-sources/read-examples.ts';
import { countDatasets, readDatasetPages, readDatasetsById } from '../../src/projections/datasets/read-datasets.ts';
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
} from '../../src/projections/rewards/read-trajectories.ts';
import { readExperimentsById } from '../../src/projections/runs/read-experiments.ts';
import { readForksOfSteps } from '../../src/projections/runs/read-forks.ts';
import { countRuns, readRuns, readRunsById } from '../../src/projections/runs/read-runs.ts';
import { countBackups } from '../../src/projections/search-statistics/read-statistics.ts';
import {
  countRollouts,
  readRollouts,
  readRolloutsById,
  readRolloutsNamed,
  readRolloutsOfTrees,
} from '../../src/projections/step-tree/read-rollouts.ts';
import { readChildren, readLeaves, readStepsById, readTreeSizes } from '../../src/projections/step-tree/read-steps.ts';
import { readDivergences, readToolCalls } from '../../src/projections/step-tree/read-tool-calls.ts';
import { countTrees, readTrees, readTreesById } from '../../src/projections/step-tree/read-trees.ts';
import type { BlobReader } from '../../src/training/rows/read-blob.ts';
import type { LargeTexts } from '../large-text.ts';
import { many, manyOfTree, mapped, mappedOfTree, one, oneOfTree, readFrom, treesAndIds } from './batch.ts';
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
  const from = readFrom(db);
  const step = createStepLoader(db);
  return {
    step,
    path: createPathLoader(db, step, pathBudget),
    pathBudget,
    stepsOfTree: createTreeStepsLoader(db),
    statistics: new TreeStatistics(db),
    runs: createListLoader(db, readRuns, countRuns),
    trees: createListLoader(db, readTrees, countTrees),
    rollouts: createListLoader(db, readRollouts, countRollouts),
    trajectories: createListLoader(db, readTrajectories, countTrajectories),
    experiment: one(from(readExperimentsById), (e) => e.id),
    run: one(from(readRunsById), (r) => r.id),
    forksOfStep: manyOfTree(from(readForksOfSteps), (f) => f.stepId),
    replaysOfPolicy: many(from(readReplaysOfPolicies), (r) => r.policyId),
    tree: one(from(readTreesById), (t) => t.id),
    treeSize: one(from(readTreeSizes), (s) => s.treeId),
    backups: mapped(from(countBackups)),
    stepById: one(from(readStepsById), (s) => s.id),
    rollout: oneOfTree(from(readRolloutsNamed)),
    rolloutById: one(from(readRolloutsById), (r) => r.id),
    rolloutsOfTree: many(from(readRolloutsOfTrees), (r) => r.treeId),
    trajectory: oneOfTree(from(readTrajectoriesNamed)),
    trajectoryById: one(from(readTrajectoriesById), (t) => t.id),
    return: oneOfTree(from(readReturns)),
    children: manyOfTree(
      (steps) => readChildren(db, ...treesAndIds(steps)),
      (s) => s.parentId,
    ),
    leaves: many(from(readLeaves), (s) => s.treeId),
    toolCalls: new ListsOfTree(
      (steps) => readToolCalls(db, ...treesAndIds(steps)),
      (c) => c.stepId,
    ),
    revision: oneOfTree(from(readRevisionsNamed)),
    revisionById: one(from(readRevisionsById), (r) => r.id),
    revisions: createListLoader(db, readRevisionPages, countRevisions),
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
    historyImage: new ListsOfTree(from(readHistoryImages), (i) => i.stepId),
    historyImages: createListLoader(db, readHistoryImagePages, countHistoryImages),
    history: mappedOfTree(from(readHistories)),
    segment: one(from(readSegments), (s) => s.id),
    segmentBudget: createSegmentBudget(),
    redrawBudget: createRedrawBudget(),
    renderSpec: one(from(readRenderSpecs), (s) => s.id),
    imageTotalsOfRollout: manyOfTree(from(readImageTotalsOfRollouts), (t) => t.ofId),
    judgements: many(from(readJudgements), (j) => j.treeId),
    dataset: one(from(readDatasetsById), (d) => d.id),
    datasets: createListLoader(db, readDatasetPages, countDatasets),
    examples: createListLoader(db, readExamplePages, countExamples),
    policiesOfDataset: many(from(readPoliciesOfDatasets), (p) => p.datasetId),
    evaluationsOfDataset: many(from(readEvaluationsOfDatasets), (e) => e.datasetId),
    metrics: createMetricsLoader(db),
    divergences: many(from(readDivergences), (d) => d.treeId),
    rewardsOfStep: new ListsOfTree(
      (steps) => readRewardsOfSteps(db, ...treesAndIds(steps)),
      (r) => r.stepId,
    ),
    rewardsOfRollout: manyOfTree(
      (rollouts) => readRewardsOfRollouts(db, ...treesAndIds(rollouts)),
      (r) => r.rolloutId,
    ),
    rewardRevisions: manyOfTree(from(readRewardRevisions), (r) => r.rewardId),
    ...createTrainingLoaders(db, blobs, estimateBudget),
  };
}
