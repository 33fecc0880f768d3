import type { PlanRules, RewardWeights } from '../domain/training/planning/plan-rules.ts';
import { catalogue, type DataOf } from '../events/catalogue.ts';
import { encode } from '../events/codec.ts';
import { derivedId } from '../events/derived-id.ts';
import type { Envelope } from '../events/envelope.ts';
import { manifestHashOf } from '../events/manifest-hash.ts';
import { pack } from '../events/packed.ts';
import type { EventLog } from '../log/event-log.ts';
import type { EventBuilder } from './event-builder.ts';

const RULES: PlanRules = {
  groupsPerBatch: 1,
  group: { kind: 'all' },
  maxStaleness: null,
  offPolicy: 'any',
  metric: 'environment',
  unscored: 'wait',
  zeroVariance: 'keep',
  band: null,
  truncated: 'keep',
  maxTokens: null,
  layout: 'step',
  tokenBudget: 1_000_000,
};

export interface BatchShape {
  readonly policyId: string;
  readonly batches?: number;
  /** Groups of a batch, members of a group, steps of a member, tokens of a step. */
  readonly groups?: number;
  readonly members?: number;
  readonly steps?: number;
  readonly tokens?: number;
  /** Record the tokens of observations too, masked 0 behind those of the policy. */
  readonly observationTokens?: number;
  /** What a unit of each component counts; left out: the rule of old declarations, the sum of all. */
  readonly rewards?: RewardWeights;
}
export interface RecordedBatches {
  readonly lineageId: string;
  readonly runId: string;
  /** Their ids, by ordinal. */
  readonly batchIds: readonly string[];
  /** The rollouts of each. */
  readonly rollouts: readonly (readonly string[])[];
}

/** Records a run that trains a policy, its groups with sampled tokens and rewards, and the batches planned of them. */
export function recordBatches(builder: EventBuilder, shape: BatchShape): RecordedBatches {
  const { policyId, batches = 1, groups = 1 } = shape;
  const lineageId = derivedId('lineage', policyId);
  const training = { policyId, channel: 'train' };
  const runId = builder.run(policyId, { config: { temperature: 0.5, training }, policy: { policyId, version: 0 } });
  let previousHash: string | null = null;
  const batchIds: string[] = [];
  const rollouts: string[][] = [];
  for (let ordinal = 0; ordinal < batches; ordinal++) {
    const recorded = Array.from({ length: groups }, (_, group) =>
      recordGroup(builder, runId, `${policyId} ${ordinal} ${group}`, shape),
    );
    const batchId = derivedId('batch', lineageId, ordinal);
    const samples = recorded.reduce((sum, { rolloutIds }) => sum + rolloutIds.length, 0);
    const manifest: Omit<DataOf<'BatchPlanned'>, 'manifestHash'> = {
      lineageId,
      policyId,
      batchId,
      ordinal,
      policyVersion: 0,
      seed: ordinal,
      position: '',
      estimator: { name: 'grpo', revision: '1', mode: {} },
      rules: { ...RULES, groupsPerBatch: groups, ...(shape.rewards ? { rewards: shape.rewards } : {}) },
      groups: recorded,
      samples,
      tokens: samples * (shape.steps ?? 2) * (shape.tokens ?? 3),
      shards: [Array.from({ length: samples }, (_, place) => place)],
      previousHash,
    };
    previousHash = manifestHashOf(manifest);
    builder.record('BatchPlanned', { ...manifest, manifestHash: previousHash }, lineageId);
    batchIds.push(batchId);
    rollouts.push(recorded.flatMap(({ rolloutIds }) => rolloutIds));
  }
  return { lineageId, runId, batchIds, rollouts };
}

function recordGroup(
  builder: EventBuilder,
  runId: string,
  name: string,
  shape: BatchShape,
): { treeId: string; rolloutIds: string[] } {
  const { members = 2, policyId } = shape;
  const policy = { policyId, version: 0 };
  const tree = builder.tree(runId, name, { plannedRollouts: members, admissibleActions: ['wait', 'inventory'] });
  const rolloutIds: string[] = [];
  for (let ordinal = 0; ordinal < members; ordinal++) {
    const rolloutId = builder.rollout(tree, ordinal, { policy });
    const leaf = recordSteps(builder, tree, rolloutId, ordinal, shape);
    builder.reward(tree, leaf, ordinal / 2, { rolloutId });
    builder.reward(tree, null, 0.25, { rolloutId, component: 'format', raw: null });
    builder.finishRollout(tree, rolloutId, leaf, { steps: shape.steps ?? 2, success: ordinal > 0 });
    rolloutIds.push(rolloutId);
  }
  builder.closeTree(tree, members);
  return { treeId: tree.treeId, rolloutIds };
}

/** Tokens that show where they come from: member, step and place in one number. */
export function recordedIds(member: number, depth: number, tokens: number): readonly number[] {
  return Array.from({ length: tokens }, (_, place) => member * 10_000 + depth * 1_000 + place);
}

function recordSteps(
  builder: EventBuilder,
  tree: { readonly treeId: string; readonly rootStepId: string; readonly runId: string },
  rolloutId: string,
  member: number,
  { policyId, steps = 2, tokens = 3, observationTokens = 0 }: BatchShape,
): string {
  let parent = tree.rootStepId;
  for (let depth = 1; depth <= steps; depth++) {
    const last = depth === steps;
    const seen = last ? 0 : observationTokens;
    const ids = recordedIds(member, depth, tokens + seen);
    parent = builder.step(tree, rolloutId, parent, depth, {
      termination: last ? 'terminated' : 'none',
      action: 'inventory',
      policySpans: [{ from: 0, to: tokens, policyId, version: depth === 1 ? 0 : 1 }],
      tokens: {
        ids: pack('int32', ids),
        logProbs: pack(
          'float32',
          ids.map((_, place) => (place < tokens ? -0.5 * (place + 1) : 0)),
        ),
        mask:
          seen > 0
            ? pack(
                'uint8',
                ids.map((_, place) => Number(place < tokens)),
              )
            : null,
      },
      stateHash: depth.toString(16).padStart(64, '0'),
      admissibleActions: last ? null : ['inventory', `go ${depth}`],
    });
  }
  return parent;
}

/** Records a batch of one group that was recorded otherwise. */
export function recordBatch(builder: EventBuilder, policyId: string, treeId: string, rolloutIds: readonly string[]): string {
  const lineageId = derivedId('lineage', policyId);
  const batchId = derivedId('batch', lineageId, 0);
  const manifest: Omit<DataOf<'BatchPlanned'>, 'manifestHash'> = {
    lineageId,
    policyId,
    batchId,
    ordinal: 0,
    policyVersion: 0,
    seed: 0,
    position: '',
    estimator: { name: 'x', revision: '1', mode: {} },
    rules: RULES,
    groups: [{ treeId, rolloutIds: [...rolloutIds] }],
    samples: rolloutIds.length,
    tokens: 0,
    shards: [rolloutIds.map((_, place) => place)],
    previousHash: null,
  };
  builder.record('BatchPlanned', { ...manifest, manifestHash: manifestHashOf(manifest) }, lineageId);
  return batchId;
}

/** Appends recorded events to a log. */
export async function appendRecorded(log: EventLog, events: readonly Envelope[]): Promise<void> {
  await log.append(events.map((event) => ({ topic: catalogue[event.type].topic, key: event.stream, value: encode(event) })));
}
