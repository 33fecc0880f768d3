import { createHash } from 'node:crypto';
import { configureEstimator } from '../../../domain/training/advantages/estimators.ts';
import { planMicroBatches } from '../../../domain/training/batching/micro-batches.ts';
import { configurePolicyLoss } from '../../../domain/training/losses/policy-losses.ts';
import { type Refused, refused } from '../../../domain/training/options.ts';
import type { Method } from '../../../events/schemas/training.ts';
import type { Backend, Updated, UpdateInput } from '../backend.ts';
import { BackendFailed } from './backend-failed.ts';
import { estimateTokens } from './estimate-tokens.ts';
import { planMiniBatches } from './mini-batches.ts';
import type { PackedRow } from './pack-rows.ts';
import { type TokenRow, tokenRows } from './token-rows.ts';
import { decodeTorchCheckpoint, encodeTorchCheckpoint, type TorchCheckpoint } from './torch-checkpoint.ts';
import type { TorchOptions } from './torch-options.ts';
import { startTorch, type TorchSession } from './torch-session.ts';

/** Raised when the same batch gives other weights. */
const REVISION = '1';
const TOKEN_BUDGET = 16_384;

/**
 * Trains a causal language model in a Python process: advantages by Espalier's estimators, losses and their gradients there, checkpoints as folders of safetensors that
 * a model server loads. What it gives as a checkpoint is the manifest that names the folder and the digests in it. A process that dies, hangs or fails is
 * a `BackendFailed`; the next update starts another. Equal inputs give equal bytes on one device with one number of threads, where torch has a
 * deterministic form. Who opens it closes it. @throws BackendFailed when Python, torch or the model is not there.
 */
export async function openTorchBackend(options: TorchOptions, signal: AbortSignal): Promise<Backend> {
  let torch = await startTorch(options, 0, signal);
  const { facts } = torch;
  // Which checkpoint the process holds; null where that is not certain. Loading it again would change nothing and take minutes for a large model.
  let holds: string | null = null;
  const initials = new Map<number, Uint8Array>(); // a KL penalty asks for version 0 at every update
  return {
    name: 'torch',
    describe: () => ({
      revision: REVISION,
      model: { ...options.model },
      aggregation: options.aggregation ?? 'token-mean',
      ...facts,
    }),
    async initial(seed) {
      const known = initials.get(seed);
      if (known) return known;
      await torch.close();
      const { signal: unbounded } = new AbortController();
      torch = await startTorch(options, seed, unbounded);
      const state = await torch.under(unbounded).save();
      holds = state.checkpoint;
      const bytes = encodeTorchCheckpoint(state);
      initials.set(seed, bytes);
      return bytes;
    },
    async update(input, held) {
      const prepared = prepare(input);
      if (prepared.kind === 'refused') return prepared;
      if (torch.ended()) {
        await torch.close();
        holds = null;
        torch = await startTorch(options, 0, held);
      }
      const session = torch.under(held);
      try {
        if (holds !== prepared.from.checkpoint) await session.load(prepared.from);
        holds = null; // from here on the weights move
        const done = await train(session, prepared, input, options);
        if (done.kind === 'refused') return done;
        holds = done.state.checkpoint;
        return done.updated;
      } catch (error) {
        // What cannot be followed is said in the process's own words; another try would not help.
        if (error instanceof BackendFailed && (error.code === 'refused' || error.code === 'not-finite'))
          return refused(error.message);
        throw error;
      }
    },
    weightsOf: (checkpoint) => encodeTorchCheckpoint(decodeTorchCheckpoint(checkpoint)),
    close: () => torch.close(),
  };
}

interface Prepared {
  readonly kind: 'prepared';
  readonly from: TorchCheckpoint;
  readonly rows: readonly TokenRow[];
}

/** Checks all that can be checked before a process is started. */
function prepare({ checkpoint, rows, settings }: UpdateInput): Prepared | Refused {
  const found = tokenRows(rows);
  if (found.kind === 'refused') return found;
  if (settings.optimiser !== 'adam') return refused(`the torch backend steps by AdamW, not by ${settings.optimiser}`);
  return { kind: 'prepared', from: decodeTorchCheckpoint(checkpoint), rows: found.rows };
}

async function train(
  session: TorchSession,
  { rows }: Prepared,
  input: UpdateInput,
  options: TorchOptions,
): Promise<Trained | Refused> {
  const { settings, seed, reference } = input;
  if (settings.kl && reference) await session.hold(decodeTorchCheckpoint(reference));
  const prompts = await session.encode(rows.map(({ messages }) => messages));
  const packed = rows.map(({ ids }, i): PackedRow => ({ prompt: prompts[i] ?? [], sampled: ids }));
  const lesson = await lessonOf(session, rows, packed, input, options);
  if (lesson.kind === 'refused') return lesson;
  const kept = lesson.trained.map((i) => ({ row: rows[i] as TokenRow, packed: packed[i] as PackedRow })); // positions of rows
  const plan = planMiniBatches(
    kept.map(({ row }) => row.row.rolloutId),
    kept.map(({ packed: { prompt, sampled } }) => prompt.length + sampled.length),
    { epochs: settings.epochs, size: settings.miniBatch, tokenBudget: options.tokenBudget ?? TOKEN_BUDGET, seed },
  );
  if (plan.kind === 'refused') return plan;
  const metrics = await session.update(
    kept.map((each) => each.packed),
    lesson.columns,
    {
      loss: lesson.wire,
      aggregation: lesson.aggregation,
      miniBatches: plan.miniBatches,
      learningRate: settings.learningRate,
      clipNorm: settings.clipNorm,
      entropyCoefficient: settings.entropyCoefficient,
      temperature: rows[0]?.row.temperature ?? 1,
      ...(settings.kl ? { kl: settings.kl } : {}),
      ...(lesson.columns.values ? { critic: { learningRate: settings.critic.learningRate, clip: settings.critic.clip } } : {}),
    },
  );
  const state = await session.save();
  const checkpoint = encodeTorchCheckpoint(state);
  const weights = createHash('sha256').update(checkpoint).digest('hex');
  const tokens = kept.reduce((sum, each) => sum + each.packed.sampled.length, 0);
  const { estimator, loss } = lesson;
  return {
    kind: 'trained',
    state,
    updated: { kind: 'updated', checkpoint, weights, estimator, loss, metrics: { ...metrics, tokens } },
  };
}

interface Trained {
  readonly kind: 'trained';
  readonly state: TorchCheckpoint;
  readonly updated: Updated;
}

interface Lesson {
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

async function lessonOf(
  session: TorchSession,
  rows: readonly TokenRow[],
  packed: readonly PackedRow[],
  { settings: { objective } }: UpdateInput,
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

/** Reads log-probs and values at the start of the update. A state that a limit cut off is valued behind its last observation, as the next step would have been. */
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
