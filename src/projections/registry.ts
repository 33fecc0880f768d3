import { annotations } from './annotations/annotations.ts';
import { datasetSources } from './dataset-sources/dataset-sources.ts';
import { datasets } from './datasets/datasets.ts';
import { evaluations } from './evaluations/evaluations.ts';
import { experimentStages } from './experiment-stages/experiment-stages.ts';
import { heldSpans } from './held-spans/held-spans.ts';
import { images } from './images/images.ts';
import { journal } from './journal/journal.ts';
import { journalChain } from './journal-chain/journal-chain.ts';
import { owners } from './owners/owners.ts';
import { pictures } from './pictures/pictures.ts';
import type { Projection } from './projection.ts';
import { prompts } from './prompts/prompts.ts';
import { renderers } from './renderers/renderers.ts';
import { replays } from './replays/replays.ts';
import { rewards } from './rewards/rewards.ts';
import { runs } from './runs/runs.ts';
import { searchStatistics } from './search-statistics/search-statistics.ts';
import { stepTree } from './step-tree/step-tree.ts';
import { trainingPool } from './training-pool/training-pool.ts';

/** Every projection of the platform, in the order in which a batch is offered to them. */
export const projections: readonly Projection[] = [
  journal,
  journalChain,
  owners,
  runs,
  stepTree,
  rewards,
  searchStatistics,
  evaluations,
  replays,
  images,
  prompts,
  datasets,
  datasetSources,
  trainingPool,
  experimentStages,
  pictures,
  annotations,
  heldSpans,
  renderers,
];
