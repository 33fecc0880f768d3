import { configureEstimator } from '../../../domain/training/advantages/estimators.ts';
import { planMicroBatches } from '../../../domain/training/batching/micro-batches.ts';
import { configurePolicyLoss } from '../../../domain/training/losses/policy-losses.ts';
import { type Refused, refused } from '../../../domain/training/options.ts';
import type { Method } from '../../../events/schemas/training.ts';
import type { TrainingSettings } from '../training-settings.ts';
import { estimateTokens } from './estimate-tokens.ts';
import type { PackedRow } from './pack-rows.ts';
import type { TokenRow } from './token-rows.ts';
import { TOKEN_BUDGET, type TorchOptions } from './torch-options.ts';
import type { TorchSession } from './torch-session.ts';

/** What an update computes, with all that is decided before it: which rows, their advantages, the loss. */
export interface Lesson {
  readonly kind: 'lesson';
  /** Positions of the rows that are trained on. */
  readonly trained: readonly number[];
  /** Of these rows. */
  readonly columns: Readonly<Record<string, readonly Float64Array[]>>;
  readonly wire: { readonly name: string; readonly options: Readonly<Record<string, unknown>> };
  readonly aggregation: string;
  readonly estimator: Method | null;
  readonly loss: Method;
}

/**
 * Prepares an update: reads what the model says of the rows, and has the advantages estimated. Refuses what cannot be computed of
 * them.
 */
export async function lessonOf(
  session: TorchSession,
  rows: readonly TokenRow[],
  packed: readonly PackedRow[],
  { objective }: TrainingSettings,
  options: TorchOptions,
): Promise<Lesson | Refused> {
  if (objective.kind === 'behaviour-cloning') return cloning(rows, objective.least);
  const estimator = configureEstimator(objective.estimator.name, objective.estimator.options);
  if (estimator.kind === 'refused') return estimator;
  const policyLoss = configurePolicyLoss(objective.loss.name, objective.loss.options);
  if (policyLoss.kind === 'refused') return policyLoss;
  const needsValues = estimator.estimator.readiness.columns.includes('values');
  if (needsValues && !options.critic)
    return refused(`${estimator.estimator.name} needs values: open the torch backend with a critic`);

  const read = await readTokens(session, rows, packed, options, needsValues);
  if (read.kind === 'refused') return read;
  const estimated = estimateTokens(estimator.estimator, rows, read);
  if (estimated.kind === 'refused') return estimated;
  const recorded = options.oldLogProbs === 'recorded' ? recordedLogProbs(rows) : null;
  if (recorded?.kind === 'refused') return recorded;
  return {
    kind: 'lesson',
    trained: [...rows.keys()],
    columns: {
      old_log_probs: recorded?.logProbs ?? read.logProbs.map((row) => Float64Array.from(row)),
      advantages: estimated.advantages,
      ...(read.values ? { values: read.values, returns: estimated.returns } : {}),
    },
    wire: { name: policyLoss.policyLoss.name, options: objective.loss.options },
    aggregation: options.aggregation ?? 'token-mean',
    estimator: methodOf(estimator.estimator),
    loss: methodOf(policyLoss.policyLoss),
  };
}

/**
 * Reads log-probs and values at the start of the update. A state that a limit cut off is valued behind its last observation, as
 * the next step would have been.
 */
async function readTokens(
  session: TorchSession,
  rows: readonly TokenRow[],
  packed: readonly PackedRow[],
  options: TorchOptions,
  values: boolean,
) {
  const cut = values ? [...rows.keys()].filter((i) => rows[i]?.row.end === 'truncated') : [];
  const after = await session.encode(
    cut.map((i) => {
      const { messages, response, row } = rows[i] as TokenRow; // positions of rows
      return [
        ...messages,
        { role: 'assistant' as const, content: response },
        { role: 'user' as const, content: row.observation },
      ];
    }),
  );
  // The value before a token does not depend on it: any id serves to read the state.
  const all = [...packed, ...after.map((prompt) => ({ prompt, sampled: [0] }))];
  const plan = planMicroBatches(
    all.map(({ prompt, sampled }) => prompt.length + sampled.length),
    options.tokenBudget ?? TOKEN_BUDGET,
  );
  if (plan.kind === 'refused') return plan;
  const column = await session.read(all, plan.batches, rows[0]?.row.temperature ?? 1);
  const logProbs = column('log_probs').slice(0, rows.length);
  if (!values) return { kind: 'read' as const, logProbs, values: null, bootstraps: null };
  const found = column('values');
  const bootstraps = new Float64Array(rows.length);
  for (const [k, i] of cut.entries()) bootstraps[i] = found[rows.length + k]?.[0] ?? 0;
  return { kind: 'read' as const, logProbs, values: found.slice(0, rows.length), bootstraps };
}

function cloning(rows: readonly TokenRow[], least: number): Lesson | Refused {
  const returns = new Map<string, number>();
  for (const { row } of rows) returns.set(row.rolloutId, (returns.get(row.rolloutId) ?? 0) + row.reward);
  const trained = [...rows.keys()].filter((i) => (returns.get(rows[i]?.row.rolloutId ?? '') ?? 0) >= least);
  if (trained.length === 0) return refused(`no rollout of the batch reaches a return of ${least}`);
  return {
    kind: 'lesson',
    trained,
    columns: { advantages: trained.map((i) => new Float64Array(rows[i]?.ids.length ?? 0).fill(1)) },
    wire: { name: 'gpg', options: {} }, // −log π where the advantage is 1
    aggregation: 'seq-mean-token-sum', // each step alike, however long its answer
    estimator: null,
    loss: { name: 'behaviour-cloning', revision: '1', mode: { least } },
  };
}

function recordedLogProbs(
  rows: readonly TokenRow[],
): { readonly kind: 'recorded'; readonly logProbs: readonly Float64Array[] } | Refused {
  const without = rows.find(({ ids, recorded }) => recorded?.length !== ids.length);
  if (without)
    return refused(`step ${without.row.step} of rollout ${without.row.rolloutId} has no recorded log-probs; recompute them`);
  return { kind: 'recorded', logProbs: rows.map(({ recorded }) => Float64Array.from(recorded ?? [])) };
}

function methodOf({ name, revision, mode }: Method): Method {
  return { name, revision, mode };
}
