import { CheckpointDamaged } from '../backend.ts';
import {
  type PackedPicture,
  type PackedRow,
  packPictures,
  packRows,
  shownOf,
  type TokenColumns,
  type TokenRow,
  unpackColumn,
  unpackIds,
} from './pack-rows.ts';
import { BackendFailed, type PythonProcess, startPython } from './python-process.ts';
import { checkpointFolder, parseTorchCheckpoint, type TorchCheckpoint } from './torch-checkpoint.ts';
import type { TorchOptions } from './torch-plan.ts';

const REQUEST_MS = 600_000; // a large model is read from disk
const UPDATE_MS = 3_600_000;

/** A process that holds the model of the options. */
export interface TorchProcess {
  /** Versions, device, sizes of the model. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** Returns its requests. An aborted signal ends the process in the middle of one: there is no other way to stop it. */
  under(signal: AbortSignal): TorchSession;
  ended(): boolean;
  close(): Promise<void>;
}

/** A chat, what it offered, and the step that names it in messages. */
type OfferedChat = Pick<TokenRow, 'messages' | 'tools' | 'where'>;

/** The requests of `session.py`, typed; one at a time. @throws BackendFailed, CheckpointDamaged. */
export interface TorchSession {
  load(checkpoint: TorchCheckpoint): Promise<void>;
  /** Takes the model of a checkpoint as what a KL penalty holds to. */
  hold(checkpoint: TorchCheckpoint): Promise<void>;
  /** Writes chats by the template of the model, up to where a reply begins. */
  encode(chats: readonly OfferedChat[]): Promise<readonly (readonly number[])[]>;
  /** Takes the pictures that rows show from here on, in place of those before; each is compared with its id. */
  show(pictures: readonly PackedPicture[]): Promise<void>;
  /**
   * Reads `log_probs` of the sampled tokens; `values` with a critic, `ref_log_probs` once a reference is held, `squared_probs`
   * where asked for.
   */
  read(
    rows: readonly PackedRow[],
    microBatches: readonly (readonly number[])[],
    asked: { readonly temperature: number; readonly squaredProbs: boolean },
  ): Promise<(name: 'log_probs' | 'values' | 'ref_log_probs' | 'squared_probs') => readonly Float64Array[]>;
  /** Finds the token that closes each occurrence of a text in each row of sampled ids. */
  locate(rows: readonly (readonly number[])[], closing: string): Promise<readonly (readonly number[])[]>;
  /** Updates the weights in the process. @returns metrics, all finite. */
  update(
    rows: readonly PackedRow[],
    columns: TokenColumns,
    settings: Readonly<Record<string, unknown>>,
  ): Promise<Readonly<Record<string, number>>>;
  save(): Promise<TorchCheckpoint>;
}

/** Starts a process and opens the model in it. @param seed of random weights. @throws BackendFailed. */
export async function startTorch(options: TorchOptions, seed: number, signal: AbortSignal): Promise<TorchProcess> {
  const python = await startPython(options.python, signal, options.processes);
  try {
    if (python.facts.torch === null)
      throw new BackendFailed('refused', `${options.python} has no torch; name a Python that has it (ESPALIER_PYTHON)`);
    const { model, critic, device, threads = 1, weightDecay = 0, lora, checkpointing } = options;
    const settings = { model, seed, valueHead: critic ?? false, threads, weightDecay, device, lora, checkpointing };
    const { message } = await python.request({ kind: 'open', ...settings }, { timeoutMs: REQUEST_MS, signal });
    const { id: _id, kind: _kind, ...opened } = message;
    const facts = { ...python.facts, ...opened };
    return { facts, under: (held) => sessionOf(python, options, held), ended: python.ended, close: python.close };
  } catch (error) {
    await python.close();
    throw error;
  }
}

function sessionOf(python: PythonProcess, options: TorchOptions, signal: AbortSignal): TorchSession {
  const ask = async (
    kind: string,
    message: Readonly<Record<string, unknown>>,
    { timeoutMs = REQUEST_MS, body = [] }: { readonly timeoutMs?: number; readonly body?: readonly Uint8Array[] } = {},
  ) => {
    try {
      return await python.request({ ...message, kind }, { timeoutMs, signal, body });
    } catch (error) {
      if (error instanceof BackendFailed && error.code === 'damaged')
        throw new CheckpointDamaged(error.message, { cause: error });
      throw error;
    }
  };
  const { folder } = options;
  return {
    load: async (checkpoint) => void (await ask('load', { folder: checkpointFolder(folder, checkpoint) })),
    hold: async (checkpoint) => void (await ask('hold', { folder: checkpointFolder(folder, checkpoint) })),
    async encode(chats) {
      const asked = chats.map(({ messages, tools, where }) => ({ messages, tools, where }));
      return unpackIds((await ask('encode', { chats: asked })).body);
    },
    async show(pictures) {
      const listed = pictures.map(({ id, step }) => ({ id, step }));
      await ask('pictures', { pictures: listed }, { body: packPictures(pictures) });
    },
    async read(rows, microBatches, asked) {
      const { body } = await ask('read', { microBatches, ...asked, shown: shownOf(rows) }, { body: packRows(rows, {}) });
      return (name) => unpackColumn(body, name, rows);
    },
    async locate(rows, closing) {
      const { message: answer } = await ask('locate', { rows, closing });
      return answer.places as readonly (readonly number[])[]; // the process returns indexes of the rows
    },
    async update(rows, columns, settings) {
      const timeoutMs = options.updateMs ?? UPDATE_MS;
      const { message: answer } = await ask(
        'update',
        { settings, shown: shownOf(rows) },
        { timeoutMs, body: packRows(rows, columns) },
      );
      return { ...(answer.metrics as Readonly<Record<string, number>>) }; // the process sends finite numbers only
    },
    save: async () => parseTorchCheckpoint((await ask('save', { folder })).message.state),
  };
}
