import type { ServedMessage } from '../../../domain/prompts/served-message.ts';
import type { Readiness } from '../../../domain/training/advantages/estimator.ts';
import { configureEstimator } from '../../../domain/training/advantages/estimators.ts';
import { planMicroBatches } from '../../../domain/training/batching/micro-batches.ts';
import { measurePrefixTree } from '../../../domain/training/batching/prefix-tree.ts';
import { correctRollouts } from '../../../domain/training/correction/correct-rollouts.ts';
import { findMismatch, measureMismatch } from '../../../domain/training/correction/mismatch.ts';
import { configurePolicyLoss } from '../../../domain/training/losses/policy-losses.ts';
import { type RefusedOption, refuseOption } from '../../../domain/training/method-options.ts';
import type { Method } from '../../../events/schemas/training.ts';
import { correctionOf, penaliseBatch, penalisesRewards, tokenRewards } from '../estimator-batch.ts';
import type { TrainingSettings } from '../training-settings.ts';
import { estimateTokens, type MergedRows, type PackedRow, type TokenRow } from './pack-rows.ts';
import { TOKEN_BUDGET, type TorchOptions } from './torch-plan.ts';
import type { TorchSession } from './torch-session.ts';

/** What an update computes, with all that is decided before it: which rows, their advantages, the loss. */
export interface PreparedUpdate {
  readonly kind: 'lesson';
  /** Positions of the rows that are trained on. */
  readonly trained: readonly number[];
  /** Of these rows. */
  readonly columns: Readonly<Record<string, readonly Float64Array[]>>;
  /** Of these rows: 1 on the tokens that are trained on. */
  readonly masks: readonly Uint8Array[];
  readonly wire: { readonly name: string; readonly options: Readonly<Record<string, unknown>> };
  readonly aggregation: string;
  readonly estimator: Method;
  readonly loss: Method;
  /** The coefficient of an adaptive KL penalty behind this batch; null where there is none. */
  readonly klCoefficient: number | null;
  readonly metrics: Readonly<Record<string, number>>;
}

/** What an update is prepared from. */
export interface BatchToLearn {
  readonly rows: readonly TokenRow[];
  readonly packed: readonly PackedRow[];
  /** What is computed of them. */
  readonly merged: MergedRows;
  readonly settings: TrainingSettings;
  /** Whose weights the session holds. */
  readonly version: number;
  /** The coefficient that the update before left behind; null where it left none. */
  readonly klCoefficient: number | null;
}

/**
 * Prepares an update: reads what the model says of the rows, and has the advantages estimated. Refuses what cannot be computed of
 * them.
 */
export async function prepareUpdate(
  session: TorchSession,
  batch: BatchToLearn,
  options: TorchOptions,
): Promise<PreparedUpdate | RefusedOption> {
  const { rows, settings } = batch;
  const { objective } = settings;
  const configured = configureEstimator(objective.estimator.name, objective.estimator.options);
  if (configured.kind === 'refused') return configured;
  const { estimator } = configured;
  const policyLoss = configurePolicyLoss(objective.loss.name, objective.loss.options);
  if (policyLoss.kind === 'refused') return policyLoss;
  if (estimator.readiness.columns.includes('values') && !options.critic)
    return refuseOption(`${estimator.name} needs values: open the torch backend with a critic`);
  const rule = correctionOf(settings);
  const recorded = rule || options.oldLogProbs === 'recorded' ? recordedLogProbs(rows) : null;
  if (recorded?.kind === 'refused') return recorded;

  const read = await readTokens(session, batch, options, estimator.readiness);
  if (read.kind === 'refused') return read;
  const mismatch = measureMismatch(
    {
      trainer: read.logProbs,
      recorded: rows.map((row) => row.recorded),
      versions: rows.map(({ row }) => row.version),
    },
    batch.version,
  );
  const beyond = findMismatch(mismatch, settings.mismatch);
  if (beyond?.kind === 'stop') return refuseOption(beyond.reason);
  const { processRewards: process, kl } = settings;
  const callEnds =
    process?.placement === 'call-end'
      ? await session.locate(
          rows.map(({ ids }) => ids),
          process.closing,
        )
      : null;
  const scores = tokenRewards(
    rows.map(({ row }) => row),
    rows.map(({ ids }) => ids.length),
    process,
    callEnds,
  );
  const penalised =
    kl?.in === 'reward' && read.refLogProbs
      ? penaliseBatch({ scores, logProbs: read.logProbs, refLogProbs: read.refLogProbs }, kl, batch.klCoefficient)
      : null;
  const masks = rows.map(({ ids }) => new Uint8Array(ids.length).fill(1));
  const corrected =
    rule && recorded ? correctRollouts({ trainer: read.logProbs, rollout: recorded.logProbs, masks }, rule) : null;
  const estimated = estimateTokens(estimator, rows, {
    rewards: penalised?.rewards ?? scores,
    values: read.values,
    bootstraps: read.bootstraps,
    oldLogProbs: read.logProbs,
    squaredProbs: read.squaredProbs,
    rolloutWeights: corrected?.weights ?? null,
  });
  if (estimated.kind === 'refused') return estimated;
  if (corrected && !corrected.masks.some((mask) => mask.includes(1)))
    return refuseOption('the correction of rollouts rejects every token of the batch; widen its bounds');
  return {
    kind: 'lesson',
    trained: [...rows.keys()],
    columns: {
      old_log_probs: options.oldLogProbs === 'recorded' && recorded ? recorded.logProbs : read.logProbs,
      advantages: estimated.advantages,
      ...(read.values ? { values: read.values, returns: estimated.returns } : {}),
      ...(corrected?.weights ? { weights: corrected.weights } : {}),
    },
    masks: corrected?.masks ?? masks,
    wire: { name: policyLoss.policyLoss.name, options: policyLoss.policyLoss.mode },
    aggregation: settings.aggregation ?? options.aggregation ?? 'token-mean',
    estimator: methodOf(estimator),
    loss: methodOf(policyLoss.policyLoss),
    klCoefficient: penalised?.nextCoefficient ?? null,
    metrics: { ...mismatch, ...penalised?.metrics, ...corrected?.metrics, prefixShare: prefixShareOf(batch.packed) },
  };
}

/** What part of the tokens of all rows is left when each beginning that rows share is computed once. */
function prefixShareOf(packed: readonly PackedRow[]): number {
  return measurePrefixTree(packed.map(({ prompt, sampled }) => [...prompt, ...sampled])).ratio;
}

/**
 * Reads what the model says at the start of the update: log-probs, and what the estimator and the settings need besides. A
 * state that a limit cut off is valued behind its last observation, as the next step would have been.
 */
async function readTokens(
  session: TorchSession,
  { rows, packed, merged, settings }: BatchToLearn,
  options: TorchOptions,
  { columns }: Readiness,
) {
  const values = columns.includes('values');
  const squaredProbs = columns.includes('squaredProbs');
  const cut = values ? [...rows.keys()].filter((i) => rows[i]?.row.end === 'truncated') : [];
  // The value before a token does not depend on it: any id serves to read the state.
  const { sequences } = merged;
  const all = [...sequences, ...(await statesBehind(session, { rows, packed }, cut))];
  const plan = planReading(all, options);
  if (plan.kind === 'refused') return plan;
  const column = await session.read(all, plan.batches, { temperature: rows[0]?.row.temperature ?? 1, squaredProbs });
  const own = (name: Parameters<typeof column>[0]) => merged.split(column(name).slice(0, sequences.length));
  const read = {
    kind: 'read' as const,
    logProbs: own('log_probs'),
    refLogProbs: penalisesRewards(settings) ? own('ref_log_probs') : null,
    squaredProbs: squaredProbs ? own('squared_probs') : null,
  };
  if (!values) return { ...read, values: null, bootstraps: null };
  const behind = column('values').slice(sequences.length);
  const bootstraps = new Float64Array(rows.length);
  for (const [k, i] of cut.entries()) bootstraps[i] = behind[k]?.[0] ?? 0;
  return { ...read, values: own('values'), bootstraps };
}

/** Cuts sequences to what fits into memory. */
function planReading(sequences: readonly PackedRow[], { tokenBudget = TOKEN_BUDGET }: TorchOptions) {
  return planMicroBatches(
    sequences.map(({ prompt, sampled }) => prompt.length + sampled.length),
    tokenBudget,
  );
}

/**
 * Reads the log-probs of the sampled tokens of every row by the weights that the session holds behind the update: one pass
 * forward over what it was prepared from.
 */
export async function logProbsAfter(
  session: TorchSession,
  { rows, merged }: BatchToLearn,
  options: TorchOptions,
): Promise<readonly Float64Array[] | null> {
  const plan = planReading(merged.sequences, options);
  if (plan.kind === 'refused') return null; // a row that fits nowhere was refused before
  const column = await session.read(merged.sequences, plan.batches, {
    temperature: rows[0]?.row.temperature ?? 1,
    squaredProbs: false,
  });
  return merged.split(column('log_probs'));
}

/** Returns prompts that end where rows were cut off: behind the observation, as the next step would have been asked. */
async function statesBehind(
  session: TorchSession,
  { rows, packed }: Pick<BatchToLearn, 'rows' | 'packed'>,
  cut: readonly number[],
): Promise<readonly PackedRow[]> {
  const encoded = await session.encode(
    cut.map((i) => {
      const { messages, tools, where, reply, row, pictures } = rows[i] as TokenRow; // positions of rows
      const observation = observationBehind(reply, row.observation);
      return { where, tools, messages: pictures.length > 0 ? [observation] : [...messages, reply, observation] };
    }),
  );
  return cut.map((i, k) => {
    const { prompt, sampled, shown } = packed[i] as PackedRow;
    const prompted = encoded[k] ?? [];
    // A text does not say where its pictures are, the recorded ids do: they are gone on with.
    return rows[i]?.pictures.length
      ? { prompt: [...prompt, ...sampled, ...prompted], sampled: [0], ...(shown ? { shown } : {}) }
      : { prompt: prompted, sampled: [0] };
  });
}

/** The message that answers a reply: of the tools that it calls, where it calls any. */
function observationBehind({ tool_calls: calls = [] }: ServedMessage, content: string): ServedMessage {
  const [call, ...others] = calls;
  if (!call) return { role: 'user', content };
  return { role: 'tool', content, ...(call.id === undefined || others.length > 0 ? {} : { tool_call_id: call.id }) };
}

function recordedLogProbs(
  rows: readonly TokenRow[],
): { readonly kind: 'recorded'; readonly logProbs: readonly Float64Array[] } | RefusedOption {
  const without = rows.find(({ ids, recorded }) => recorded?.length !== ids.length);
  if (without)
    return refuseOption(
      `step ${without.row.step} of rollout ${without.row.rolloutId} has no recorded log-probs; recompute them, and train without a correction`,
    );
  return { kind: 'recorded', logProbs: rows.map(({ recorded }) => Float64Array.from(recorded ?? [])) };
}

function methodOf({ name, revision, mode }: Method): Method {
  return { name, revision, mode };
}
