import { createReadStream } from 'node:fs';
import { type FileHandle, open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { openSha256, sha256Hex, sha256OfFile } from '../../../digest/sha256.ts';
import { type Backend, CheckpointDamaged } from '../backend.ts';

const digest = z.string().regex(/^[0-9a-f]{64}$/);

/** What a checkpoint of the torch backend says: the folder that holds its files, by name, and the digests of what is in them. */
const torchCheckpoint = z.strictObject({
  format: z.literal('espalier-torch/1'),
  /** The folder's name, derived from all that follows. */
  checkpoint: digest,
  /** SHA-256 of the model's tensors. */
  weights: digest,
  /** SHA-256 of the tensors of optimiser and critic. */
  rest: digest,
  steps: z.int().min(0),
  /** The coefficient that an adaptive KL penalty begins the next update with; left out where there is none. */
  klCoefficient: z.number().optional(),
});
export type TorchCheckpoint = z.infer<typeof torchCheckpoint>;

/** Checks what the training process says of a checkpoint. @throws CheckpointDamaged. */
export function parseTorchCheckpoint(value: unknown): TorchCheckpoint {
  const parsed = torchCheckpoint.safeParse(value);
  if (!parsed.success)
    throw new CheckpointDamaged(`this is no checkpoint of the torch backend: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/**
 * Writes the manifest: a large model stays in its files, and a digest of this is a digest of them. Equal checkpoints are equal
 * bytes.
 */
export function encodeTorchCheckpoint(manifest: TorchCheckpoint): Uint8Array {
  const { checkpoint, format, klCoefficient, rest, steps, weights } = manifest;
  return new TextEncoder().encode(JSON.stringify({ checkpoint, format, klCoefficient, rest, steps, weights }));
}

/** Reads a manifest. @throws CheckpointDamaged. */
export function decodeTorchCheckpoint(bytes: Uint8Array): TorchCheckpoint {
  try {
    return parseTorchCheckpoint(JSON.parse(new TextDecoder().decode(bytes)));
  } catch (error) {
    if (error instanceof CheckpointDamaged) throw error;
    throw new CheckpointDamaged('this is no checkpoint of the torch backend', { cause: error });
  }
}

/** Returns the folder that a model server loads a checkpoint from. */
export function checkpointFolder(folder: string, { checkpoint }: TorchCheckpoint): string {
  return join(folder, checkpoint);
}

/** What reads which weights a manifest stands for; it takes no torch. */
export const torchManifests: Pick<Backend, 'name' | 'weightsOf'> = {
  name: 'torch',
  weightsOf: (bytes) => encodeTorchCheckpoint(decodeTorchCheckpoint(bytes)),
};

const MODEL = /^(model.*|adapter_model)\.safetensors$/; // an adapter is all that its training changes

interface TorchDamage {
  readonly kind: 'changed' | 'missing';
  readonly detail: string;
}

/**
 * Looks whether the files of a torch checkpoint are those that were written, without torch: the folder's name follows from what
 * the manifest says, the optimiser's file from its digest, the model's from the digest of its tensors, laid out as the trainer
 * lays them out. Returns what is wrong; null when nothing is. A model that ties tensors is written without them, and its digest
 * cannot be computed from the file: of such a one the rest is checked, and the trainer refuses a damaged one when it loads it.
 */
export async function torchDamage(root: string, manifest: TorchCheckpoint): Promise<TorchDamage | null> {
  const { checkpoint, format, rest, steps, weights } = manifest;
  // as Python's json.dumps writes it
  const named = `{"format": "${format}", "rest": "${rest}", "steps": ${steps}, "weights": "${weights}"}`;
  if (sha256Hex(named) !== checkpoint) return changed('its manifest does not add up to its name');
  const folder = checkpointFolder(root, manifest);
  const files = (await readdir(folder).catch(() => [])).sort();
  if (files.length === 0) return missing(`the folder ${checkpoint} is missing`);
  for (const wanted of ['state.json', 'trainer.safetensors']) if (!files.includes(wanted)) return missing(`${wanted} is missing`);
  if ((await stateOf(folder)) !== Buffer.from(encodeTorchCheckpoint(manifest)).toString())
    return changed('state.json has other content');
  if ((await sha256OfFile(join(folder, 'trainer.safetensors'))) !== rest) return changed('trainer.safetensors has other content');
  const models = files.filter((name) => MODEL.test(name));
  if (models.length === 0) return missing('its model is missing');
  const digest = await digestTensors(models.map((name) => join(folder, name))).catch(() => 'unreadable');
  return digest === weights || (digest !== 'unreadable' && (await tiesTensors(folder)))
    ? null
    : changed(`${models.join(', ')} has other content`);
}

function changed(detail: string): TorchDamage {
  return { kind: 'changed', detail };
}

function missing(detail: string): TorchDamage {
  return { kind: 'missing', detail };
}

/** Reads what the folder says of itself, as a manifest is written; null when it is none. */
async function stateOf(folder: string): Promise<string | null> {
  try {
    return Buffer.from(encodeTorchCheckpoint(decodeTorchCheckpoint(await readFile(join(folder, 'state.json'))))).toString();
  } catch (error) {
    if (error instanceof CheckpointDamaged) return null;
    throw error;
  }
}

async function tiesTensors(folder: string): Promise<boolean> {
  const config = await readFile(join(folder, 'config.json'), 'utf8').catch(() => '');
  return /"tie_word_embeddings"\s*:\s*true/.test(config);
}

const entry = z.object({
  dtype: z.string(),
  shape: z.array(z.int().min(0)),
  data_offsets: z.tuple([z.int().min(0), z.int().min(0)]),
});
const header = z.record(z.string(), entry);

/**
 * Digests the tensors of safetensors files together, by name, as `digest_tensors` of the trainer does: a model is read in pieces,
 * never held.
 */
async function digestTensors(paths: readonly string[]): Promise<string> {
  const tensors = new Map<string, { readonly path: string; readonly from: number; readonly entry: z.infer<typeof entry> }>();
  for (const path of paths) {
    const { entries, start } = await readHeader(path);
    for (const [name, each] of Object.entries(entries))
      tensors.set(name, { path, from: start + each.data_offsets[0], entry: each });
  }
  const ordered = [...tensors].sort(([a], [b]) => (a < b ? -1 : 1));
  let offset = 0;
  const laidOut = ordered.map(
    ([
      name,
      {
        entry: { dtype, shape, data_offsets },
      },
    ]): [string, unknown] => {
      const begin = offset;
      offset += data_offsets[1] - data_offsets[0];
      return [name, { dtype, shape, data_offsets: [begin, offset] }];
    },
  );
  const text = Buffer.from(JSON.stringify(Object.fromEntries(laidOut)));
  const padded = Buffer.concat([text, Buffer.alloc((8 - (text.length % 8)) % 8, ' ')]);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.length));
  const hash = openSha256().update(length).update(padded);
  for (const [
    ,
    {
      path,
      from,
      entry: { data_offsets },
    },
  ] of ordered) {
    const size = data_offsets[1] - data_offsets[0];
    if (size > 0)
      // no encoding: buffers
      for await (const chunk of createReadStream(path, { start: from, end: from + size - 1 })) hash.update(chunk as Buffer);
  }
  return hash.digest('hex');
}

async function readHeader(path: string): Promise<{ readonly entries: z.infer<typeof header>; readonly start: number }> {
  let file: FileHandle | undefined;
  try {
    file = await open(path);
    const size = Buffer.alloc(8);
    await file.read(size, 0, 8, 0);
    const length = Number(size.readBigUInt64LE());
    if (length > HEADER_LIMIT) throw new RangeError(`a header of ${length} bytes`);
    const text = Buffer.alloc(length);
    await file.read(text, 0, length, 8);
    const { __metadata__: _, ...entries } = JSON.parse(text.toString('utf8')) as Record<string, unknown>; // checked next
    return { entries: header.parse(entries), start: 8 + length };
  } finally {
    await file?.close();
  }
}

const HEADER_LIMIT = 100_000_000; // as the reference reader has it
