import { keyInTree } from '../../src/projections/of-tree.ts';
import { readBatchOutcomes } from '../../src/projections/training-pool/read-batch-outcomes.ts';
import { BATCH_ORDERING } from '../../src/projections/training-pool/read-batches.ts';
import { readDiscarded } from '../../src/projections/training-pool/read-discarded.ts';
import { POLICY_UPDATE_ORDERING } from '../../src/projections/training-pool/read-policy-updates.ts';
import { asDeclared, recordedDeclaration } from '../../src/usecases/train/declaration/recorded-declaration.ts';
import type { WaitingReason } from '../../src/usecases/train/waiting/why-waiting.ts';
import { bounded, connect, PAGE_LIMIT } from '../connection.ts';
import type {
  BatchResolvers,
  DiscardedSamplesResolvers,
  LedgerResolvers,
  PolicyUpdateResolvers,
  PolicyVersionResolvers,
  TrainedPolicyResolvers,
  TrainingDeclarationResolvers,
  TrainingSampleResolvers,
  TrainingWaitingResolvers,
  UpdateOutcomeResolvers,
  WaitingFor,
} from '../generated/types.ts';
import { one, readFrom } from '../loaders/batch.ts';
import { loadedBy } from '../loaders/loaded-by.ts';

export const TrainedPolicy: TrainedPolicyResolvers = {
  id: ({ policyId }) => policyId,
  newest: ({ policyId, newestVersion: version }, _, { loaders }) =>
    version === null ? null : loaders.policyUpdate.load({ policyId, version }),
  declaration: (lineage) => recordedDeclaration(lineage),
  waiting: ({ policyId }, _, { loaders }) => loaders.waiting.load(policyId),
  replays: ({ policyId }, _, { loaders }) => loaders.replaysOfPolicy.load(policyId),
  ledger: async ({ policyId }, _, { loaders }) => {
    const ledger = await loaders.ledger.load(policyId);
    if (ledger === null) throw new Error(`the ledger of ${policyId} is missing: a declared policy has one`);
    return ledger;
  },
  staleness: ({ policyId }, _, { loaders }) => loaders.staleness.load(policyId),
  discarded: async ({ policyId }, { by, first }, { sources: { db } }) => {
    const property = PROPERTIES[by];
    const parts = await readDiscarded(db, policyId, property, bounded('first', first, PAGE_LIMIT));
    return parts.map((part) => ({ by: property, ...part }));
  },
  versions: ({ policyId }, args, { loaders }) =>
    connect(
      args,
      (page) => loaders.policyUpdates.page.load({ filter: { policyId }, ordering: POLICY_UPDATE_ORDERING, page }),
      () => loaders.policyUpdates.count.load({ policyId }),
    ),
  batches: ({ policyId }, args, { loaders }) => {
    const filter = args.state == null ? { policyId } : { policyId, state: args.state };
    return connect(
      args,
      (page) => loaders.batches.page.load({ filter, ordering: BATCH_ORDERING, page }),
      () => loaders.batches.count.load(filter),
    );
  },
};

const PROPERTIES = { TASK: 'task', LENGTH: 'length', VERSION: 'version' } as const;

export const DiscardedSamples: DiscardedSamplesResolvers = {
  task: async ({ by, treeId }, _, { loaders }) => (by === 'task' ? ((await loaders.tree.load(treeId))?.task ?? null) : null),
  tree: ({ treeId }, _, { loaders }) => loaders.tree.load(treeId),
  length: ({ by, key }) => (by === 'length' && key !== null ? { from: Number(key), to: Math.max(1, 2 * Number(key)) } : null),
  version: ({ by, key }) => (by === 'version' && key !== null ? Number(key) : null),
  reasons: ({ reasons }) => countsByReason(reasons),
};

export const TrainingDeclaration: TrainingDeclarationResolvers = {
  source: (recorded) => asDeclared(recorded),
};

export const TrainingWaiting: TrainingWaitingResolvers = {
  for: ({ waitingFor }) => WAITING_NAMES[waitingFor],
  openGroups: ({ groups }) => groups.open,
  closedGroups: ({ groups }) => groups.closed,
  readyGroups: ({ groups }) => groups.ready,
  rejectedGroups: ({ groups }) =>
    Object.entries(groups.rejected)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([reason, count]) => ({ reason, groups: count })),
};

/** An enum of GraphQL has no hyphen in its names. */
const WAITING_NAMES: Readonly<Record<WaitingReason['waitingFor'], WaitingFor>> = {
  declaration: 'declaration',
  'first-version': 'first_version',
  lease: 'lease',
  runs: 'runs',
  planner: 'planner',
  scores: 'scores',
  'greedy-sibling': 'greedy_sibling',
  members: 'members',
  groups: 'groups',
  tasks: 'tasks',
};

export const Ledger: LedgerResolvers = {
  rejected: ({ rejected }) => countsByReason(rejected),
};

function countsByReason(counts: Readonly<Record<string, number>>): { reason: string; samples: number }[] {
  return Object.entries(counts)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([reason, samples]) => ({ reason, samples }));
}

const outcomeOfBatch = loadedBy((db) => one(readFrom(db)(readBatchOutcomes), (outcome) => outcome.batchId));

export const UpdateOutcome: UpdateOutcomeResolvers = {
  tokensPerSecond: ({ sampledTokens, trainedMs }) =>
    trainedMs === null || trainedMs <= 0 ? null : (1_000 * sampledTokens) / trainedMs,
};

export const PolicyUpdate: PolicyUpdateResolvers = {
  parent: ({ policyId, parentVersion: version }, _, { loaders }) =>
    version === null ? null : loaders.policyUpdate.load({ policyId, version }),
  batch: ({ batchId }, _, { loaders }) => (batchId === null ? null : loaders.batch.load(batchId)),
  outcome: ({ batchId }, _, context) => (batchId === null ? null : outcomeOfBatch(context).load(batchId)),
  actedIn: async ({ policyId, version }, { first }, { loaders }) => {
    const ids = await loaders.batchesActedIn.load({ policyId, version, first: bounded('first', first, PAGE_LIMIT) });
    const batches = await Promise.all(ids.map((id) => loaders.batch.load(id)));
    return batches.flatMap((batch) => batch ?? []);
  },
};

export const PolicyVersion: PolicyVersionResolvers = {
  update: ({ id: policyId, version }, _, { loaders }) => loaders.policyUpdate.load({ policyId, version }),
};

export const Batch: BatchResolvers = {
  base: ({ policyId: id, policyVersion: version }) => ({ id, version }),
  update: ({ id }, _, { loaders }) => loaders.updateOfBatch.load(id),
  groupCount: ({ groups }) => groups,
  sampleCount: ({ samples }) => samples,
  samples: ({ id: batchId }, { from, first }, { loaders }) =>
    loaders.samplesOfBatch.load({ batchId, from: Math.max(0, from), first: bounded('first', first, PAGE_LIMIT) }),
  leases: ({ id }, _, { loaders }) => loaders.leasesOfBatch.load(id),
  abandonment: ({ id }, _, { loaders }) => loaders.abandonmentOfBatch.load(id),
  staleness: ({ id }, _, { loaders }) => loaders.stalenessOfBatch.load(id),
  actors: ({ id }, _, { loaders }) => loaders.actorsOfBatch.load(id),
  estimates: async ({ id: batchId }, { rewards }, { loaders }) => (await loaders.estimates.load({ batchId, rewards })).batch,
};

export const TrainingSample: TrainingSampleResolvers = {
  rollout: ({ treeId, rolloutId: id }, _, { loaders }) => loaders.rollout.load({ treeId, id }),
  tree: ({ treeId }, _, { loaders }) => loaders.tree.load(treeId),
  batch: ({ batchId }, _, { loaders }) => (batchId === null ? null : loaders.batch.load(batchId)),
  actors: async ({ rolloutId: id, treeId }, _, { loaders }) =>
    (await loaders.actorsOfRollout.load({ id, treeId })).map(({ policyId, version }) => ({ id: policyId, version })),
  estimate: async ({ rolloutId, treeId, batchId }, { rewards }, { loaders }) => {
    if (batchId === null) return null;
    const { ofRollout } = await loaders.estimatesOfGroup.load({ batchId, treeId, rewards });
    return ofRollout.get(keyInTree(treeId, rolloutId)) ?? null;
  },
};
