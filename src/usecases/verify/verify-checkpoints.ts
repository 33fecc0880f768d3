import { BlobCorrupt, BlobMissing } from '../../blobs/blob-store.ts';
import { decode } from '../../events/codec.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { readBodiesOfType } from '../../projections/journal/read-bodies.ts';
import { CheckpointDamaged } from '../../training/backends/backend.ts';
import { linearBackend } from '../../training/backends/linear/linear-backend.ts';
import { decodeTorchCheckpoint, torchDamage, torchManifests } from '../../training/backends/torch/torch-checkpoint.ts';
import { torchFolder } from '../../training/backends/torch/torch-plan.ts';
import { readCheckpoint } from '../../training/checkpoints/checkpoint-store.ts';
import type { Fault } from './verification.ts';

/**
 * Checks every checkpoint that an event says is kept here: its blob against its name, the weights in it against the digest that
 * the event names, and of the torch backend the files of its folder. Returns how many there are. Checkpoints that are kept
 * elsewhere are not ours to check.
 */
export async function verifyCheckpoints(platform: Platform, signal: AbortSignal, fault: (found: Fault) => void): Promise<number> {
  const bodies = await readBodiesOfType(platform.database.db, 'CheckpointSaved');
  const seen = new Set<string>();
  for (const body of bodies) {
    signal.throwIfAborted();
    const decoded = decode(Buffer.from(body));
    // the chain of the journal names what is no event
    if (decoded.kind !== 'event' || decoded.event.type !== 'CheckpointSaved') continue;
    const { checkpointId, policyId, version, backend, weights, kept } = decoded.event.data;
    if (kept === null || seen.has(checkpointId)) continue;
    seen.add(checkpointId);
    const damage = await damageOf(platform, { checkpointId, version, backend, weights, kept });
    if (damage) fault({ what: 'checkpoint', kind: damage.kind, place: `${policyId} version ${version}: ${damage.detail}` });
  }
  return seen.size;
}

type Head = Parameters<typeof readCheckpoint>[2];

async function damageOf(
  { blobs, config }: Platform,
  head: Head,
): Promise<{ readonly kind: Fault['kind']; readonly detail: string } | null> {
  try {
    if (head.backend === 'torch') {
      const manifest = decodeTorchCheckpoint(await readCheckpoint(blobs, torchManifests, head));
      const damage = await torchDamage(torchFolder(config), manifest);
      return damage && { ...damage, detail: `checkpoint ${head.checkpointId}: ${damage.detail}` };
    }
    if (head.backend === 'linear') await readCheckpoint(blobs, linearBackend(), head);
    else if (head.kept) await blobs.get(head.kept.blob); // of a trainer elsewhere: what its bytes mean is not known here
    return null;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const missing = error instanceof BlobMissing || error.cause instanceof BlobMissing;
    if (missing || error instanceof CheckpointDamaged || error instanceof BlobCorrupt)
      return { kind: missing ? 'missing' : 'changed', detail: error.message };
    throw error;
  }
}
