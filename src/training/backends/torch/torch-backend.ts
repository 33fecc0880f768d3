import { sha256Hex } from '../../../digest/sha256.ts';
import { createRandom } from '../../../domain/random/random.ts';
import { planMicroBatches } from '../../../domain/training/batching/micro-batches.ts';
import { type RefusedOption, refuseOption } from '../../../domain/training/method-options.ts';
import { countTrained } from '../../../domain/training/rows/rows.ts';
import { positionsByKey } from '../../../domain/training/statistics/groups.ts';
import type { Backend, Updated, UpdateInput } from '../backend.ts';
import { trajectoryOf } from '../step-row.ts';
import {
  findForeignId,
  type MergedRows,
  mergeRows,
  type PackedPicture,
  type PackedRow,
  type TokenRow,
  tokenRows,
  unmergedRows,
} from './pack-rows.ts';
import { logProbsAfter, type PreparedUpdate, prepareUpdate } from './prepare-update.ts';
import { BackendFailed } from './python-process.ts';
import { decodeTorchCheckpoint, encodeTorchCheckpoint, type TorchCheckpoint } from './torch-checkpoint.ts';
import { TOKEN_BUDGET, type TorchOptions } from './torch-plan.ts';
import { startTorch, type TorchSession } from './torch-session.ts';

/** Raised when the same batch yields other weights. */
const REVISION = '3'; // 1 ran padded rows; 2 divided sums of rows by the longest trained span, and small weights by their mean

/**
 * Trains a causal language model in a Python process: advantages by Espalier's estimators, losses and their gradients there,
 * checkpoints as folders of safetensors that a model server loads. What it stores as a checkpoint is the manifest that names the
 * folder and the digests in it. A process that dies, hangs or fails is a `BackendFailed`; the next update starts another. Equal
 * inputs give equal bytes on one device with one number of threads, where torch has a deterministic form. Who opens it closes it.
 * @throws BackendFailed when Python, torch or the model is not there.
 */
export async function openTorchBackend(options: TorchOptions, signal: AbortSignal): Promise<Backend> {
  let torch = await startTorch(options, 0, signal);
  const { facts } = torch;
  // Which checkpoint the process holds; null where that is not certain. Loading it again would change nothing and take minutes
  // for a large model.
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
        const done = await train(session, prepared, input, {
          ...options,
          vocabulary: Number(facts.vocabulary),
        });
        if (done.kind === 'refused') return done;
        holds = done.state.checkpoint;
        return done.updated;
      } catch (error) {
        // What cannot be followed is said in the process's own words; another try would not help.
        if (error instanceof BackendFailed && (error.code === 'refused' || error.code === 'not-finite'))
          return refuseOption(error.message);
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
function prepare({ checkpoint, rows, settings }: UpdateInput): Prepared | RefusedOption {
  const found = tokenRows(rows);
  if (found.kind === 'refused') return found;
  if (settings.optimiser !== 'adam') return refuseOption(`the torch backend steps by AdamW, not by ${settings.optimiser}`);
  return { kind: 'prepared', from: decodeTorchCheckpoint(checkpoint), rows: found.rows };
}

/** Returns the token ids of each row's prompt: those that its server returned, else those of the model's own template. */
async function promptsOf(session: TorchSession, rows: readonly TokenRow[]): Promise<readonly (readonly number[])[]> {
  const unknown = rows.filter(({ promptIds }) => promptIds === null);
  const encoded = unknown.length > 0 ? await session.encode(unknown) : [];
  let next = 0;
  return rows.map(({ promptIds }) => promptIds ?? encoded[next++] ?? []);
}

/** Draws the pictures that rows show, each once. @throws PictureUndrawable. */
async function picturesOf(rows: readonly TokenRow[]): Promise<readonly PackedPicture[]> {
  const drawn = new Map<string, PackedPicture>();
  for (const { pictures, where } of rows)
    for (const { imageId, png } of pictures)
      if (!drawn.has(imageId)) drawn.set(imageId, { id: imageId, step: where, png: await png() });
  return [...drawn.values()];
}

/** With what the process says of the model that it opened. */
type OpenedOptions = TorchOptions & { readonly vocabulary: number };

function mergedOf(rows: readonly TokenRow[], packed: readonly PackedRow[], options: OpenedOptions): MergedRows {
  if (options.rows === 'step') return unmergedRows(packed);
  const steps = rows.map(({ row }, i) => ({ trajectory: trajectoryOf(row), step: row.step, packed: packed[i] as PackedRow })); // one each
  return mergeRows(steps);
}

/** Whether a loss depends on what a row is: then each step stays one, as its advantages were estimated. */
function countsRows({ aggregation, wire }: PreparedUpdate): boolean {
  return wire.name === 'gspo' || aggregation !== 'token-mean'; // GSPO has the ratio of a sequence
}

async function train(
  session: TorchSession,
  { rows, from }: Prepared,
  input: UpdateInput,
  options: OpenedOptions,
): Promise<Trained | RefusedOption> {
  const { settings, seed, reference, version } = input;
  const { kl, critic } = settings;
  if (kl && reference === null) return refuseOption('a KL penalty needs the weights of version 0');
  if (kl && reference) await session.hold(decodeTorchCheckpoint(reference));
  const prompts = await promptsOf(session, rows);
  const packed = rows.map(({ ids, pictures, where }, i): PackedRow => {
    const prompt = prompts[i] ?? [];
    const shown = { step: where, tokens: prompt.length, pictures: pictures.map(({ imageId }) => imageId) };
    return { prompt, sampled: ids, shown };
  });
  const foreign = findForeignId(rows, packed, options.vocabulary);
  if (foreign !== null) return refuseOption(foreign);
  const drawn = await picturesOf(rows);
  if (drawn.length > 0) await session.show(drawn);
  const batch = {
    rows,
    packed,
    merged: mergedOf(rows, packed, options),
    settings,
    version,
    klCoefficient: from.klCoefficient ?? null,
  };
  const lesson = await prepareUpdate(session, batch, options);
  if (lesson.kind === 'refused') return lesson;
  const kept = lesson.trained.map((i) => rows[i] as TokenRow); // positions of rows
  const trained = lesson.trained.map((i, k) => ({ ...(packed[i] as PackedRow), trained: lesson.masks[k] as Uint8Array }));
  const merged = countsRows(lesson) ? unmergedRows(trained) : mergedOf(kept, trained, options);
  const { sequences, members } = merged;
  const lengths = sequences.map(({ prompt, sampled }) => prompt.length + sampled.length);
  const plan = planMiniBatches(
    members.map(([first = 0]) => trajectoryOf((kept[first] as TokenRow).row)),
    lengths,
    { epochs: settings.epochs, size: settings.miniBatch, tokenBudget: options.tokenBudget ?? TOKEN_BUDGET, seed },
  );
  if (plan.kind === 'refused') return plan;
  const columns = Object.fromEntries(Object.entries(lesson.columns).map(([name, column]) => [name, merged.spread(column)]));
  const metrics = await session.update(sequences, columns, {
    loss: lesson.wire,
    aggregation: lesson.aggregation,
    miniBatches: plan.miniBatches,
    learningRate: settings.learningRate,
    clipNorm: settings.clipNorm,
    entropyCoefficient: settings.entropyCoefficient,
    temperature: rows[0]?.row.temperature ?? 1,
    ...(settings.lossScale === undefined ? {} : { lossScale: settings.lossScale }),
    ...(kl && kl.in !== 'reward' ? { kl } : {}),
    ...(lesson.columns.values
      ? { critic: { learningRate: critic.learningRate, clip: critic.clip, factor: critic.factor ?? 0.5 } }
      : {}),
  });
  const saved = await session.save();
  const state = lesson.klCoefficient === null ? saved : { ...saved, klCoefficient: lesson.klCoefficient };
  const checkpoint = encodeTorchCheckpoint(state);
  const weights = sha256Hex(checkpoint);
  const tokens = lesson.masks.reduce((sum, mask) => sum + countTrained(mask), 0);
  const sequenceTokens = lengths.reduce((sum, length) => sum + length, 0);
  const { estimator, loss } = lesson;
  const found = input.logProbs === 'after' ? await logProbsAfter(session, batch, options) : null;
  const place = new Map(rows.map(({ row }, i) => [row, i]));
  const logProbs = found && input.rows.map((row) => found[place.get(row) ?? 0] ?? new Float64Array());
  return {
    kind: 'trained',
    state,
    updated: {
      kind: 'updated',
      checkpoint,
      weights,
      estimator,
      loss,
      metrics: { ...metrics, ...lesson.metrics, tokens, sequenceTokens },
      ...(logProbs === null ? {} : { logProbs }),
    },
  };
}

interface Trained {
  readonly kind: 'trained';
  readonly state: TorchCheckpoint;
  readonly updated: Updated;
}

/** Optimiser steps; each is made of micro-batches of row positions. */
type MiniBatches = readonly (readonly (readonly number[])[])[];

/**
 * Plans the steps of all epochs: whole trajectories, in a seeded order of its own for each epoch, `size` of them a step; the rows
 * of a step are cut to what fits into memory. Refuses a row that fits nowhere.
 */
function planMiniBatches(
  trajectories: readonly string[],
  lengths: readonly number[],
  {
    epochs,
    size,
    tokenBudget,
    seed,
  }: { readonly epochs: number; readonly size: number; readonly tokenBudget: number; readonly seed: number },
): { readonly kind: 'planned'; readonly miniBatches: MiniBatches } | RefusedOption {
  const rowsOf = positionsByKey(trajectories);
  const miniBatches: (readonly (readonly number[])[])[] = [];
  for (let epoch = 0; epoch < epochs; epoch++) {
    const order = createRandom(seed)
      .fork(epoch)
      .shuffle([...rowsOf.keys()]);
    for (let from = 0; from < order.length; from += size) {
      const rows = order.slice(from, from + size).flatMap((trajectory) => rowsOf.get(trajectory) ?? []);
      const cut = planMicroBatches(
        rows.map((row) => lengths[row] ?? 0),
        tokenBudget,
      );
      if (cut.kind === 'refused') return cut;
      miniBatches.push(cut.batches.map((places) => places.map((place) => rows[place] ?? 0)));
    }
  }
  return { kind: 'planned', miniBatches };
}
