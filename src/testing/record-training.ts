import type { PlanRules } from '../domain/training/planning/plan-rules.ts';
import type { DataOf } from '../events/catalogue.ts';
import { derivedId } from '../events/derived-id.ts';
import { manifestHashOf } from '../events/manifest-hash.ts';
import type { EventBuilder } from './event-builder.ts';

export const TEST_RULES: PlanRules = {
  groupsPerBatch: 2,
  group: { kind: 'all' },
  maxStaleness: 0,
  offPolicy: 'any',
  metric: 'environment',
  unscored: 'reject',
  zeroVariance: 'reject',
  band: null,
  truncated: 'keep',
  unknownSampling: 'keep', // most records of tests have no prompts
  maxTokens: null,
  layout: 'step',
  tokenBudget: 10_000,
};

/** Records that a policy is trained, and its first version. */
export function recordLineage(builder: EventBuilder, policyId: string, rules: Partial<PlanRules> = {}): string {
  const lineageId = derivedId('lineage', policyId);
  const estimator = { name: 'grpo', revision: '1', mode: {} };
  const declared = { lineageId, policyId, estimator, rules: { ...TEST_RULES, ...rules }, seed: 7, trainer: {} };
  builder.record('TrainingDeclared', declared, lineageId);
  recordVersion(builder, policyId, 0);
  return lineageId;
}

/** Records a version of a policy, made from a batch or, without one, as a beginning. */
export function recordVersion(builder: EventBuilder, policyId: string, version: number, batchId: string | null = null): void {
  const lineageId = derivedId('lineage', policyId);
  const checkpointId = builder.id('checkpoint', policyId, version);
  const weights = (version % 10).toString().repeat(64);
  const update = { version, parentVersion: batchId === null ? null : version - 1, batchId, checkpointId, weights };
  const rest = { estimator: null, loss: null, samples: 0, metrics: {} };
  builder.record('PolicyUpdated', { lineageId, policyId, ...update, ...rest }, lineageId);
}

export interface RecordedGroup {
  readonly treeId: string;
  readonly rolloutIds: readonly string[];
}

/** Records a closed group of a policy's run: one rollout of one step per reward, all by one version. */
export function recordGroup(
  builder: EventBuilder,
  runId: string,
  name: string,
  {
    policyId,
    version = 0,
    rewards,
  }: { readonly policyId: string; readonly version?: number; readonly rewards: readonly number[] },
): RecordedGroup {
  const tree = builder.tree(runId, name, { plannedRollouts: rewards.length });
  const policy = { policyId, version };
  const rolloutIds = rewards.map((value, ordinal) => {
    const rolloutId = builder.rollout(tree, ordinal, { policy });
    const policySpans = [{ from: 0, to: 3 + ordinal, ...policy }];
    const stepId = builder.step(tree, rolloutId, tree.rootStepId, 1, { policySpans, termination: 'terminated' });
    builder.reward(tree, stepId, value, { rolloutId });
    builder.finishRollout(tree, rolloutId, stepId);
    return rolloutId;
  });
  builder.closeTree(tree, rewards.length);
  return { treeId: tree.treeId, rolloutIds };
}

/** Records a batch of whole groups, after the one given. */
export function recordBatch(
  builder: EventBuilder,
  policyId: string,
  groups: readonly RecordedGroup[],
  before: DataOf<'BatchPlanned'> | null = null,
): DataOf<'BatchPlanned'> {
  const lineageId = derivedId('lineage', policyId);
  const ordinal = before === null ? 0 : before.ordinal + 1;
  const samples = groups.reduce((sum, { rolloutIds }) => sum + rolloutIds.length, 0);
  const said = {
    lineageId,
    policyId,
    batchId: derivedId('batch', lineageId, ordinal),
    ordinal,
    policyVersion: ordinal,
    groups: groups.map(({ treeId, rolloutIds }) => ({ treeId, rolloutIds: [...rolloutIds] })),
    samples,
    tokens: samples,
    shards: [Array.from({ length: samples }, (_, place) => place)],
    estimator: { name: 'grpo', revision: '1', mode: {} },
    rules: TEST_RULES,
    seed: 7,
    position: 'trees.0:9',
    previousHash: before?.manifestHash ?? null,
  };
  const data = { ...said, manifestHash: manifestHashOf(said) };
  builder.record('BatchPlanned', data, lineageId);
  return data;
}
