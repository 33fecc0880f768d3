import type { BlobStore } from '../../blobs/blob-store.ts';
import { sha256Hex } from '../../digest/sha256.ts';
import { seedFrom } from '../../domain/random/seed-from.ts';
import type { Backend } from '../../training/backends/backend.ts';
import { keepCheckpoint } from '../../training/checkpoints/checkpoint-store.ts';
import type { RegisterRequest } from '../../training/leases/protocol.ts';

/** Makes version 0 of a policy, keeps its checkpoint, and returns what the lease service registers. Made again it is the same. */
export async function makeFirstVersion(blobs: BlobStore, backend: Backend, policyId: string): Promise<RegisterRequest> {
  const first = await backend.initial(seedFrom('initial', policyId));
  const kept = await keepCheckpoint(blobs, first);
  return { policyId, backend: backend.name, weights: sha256Hex(backend.weightsOf(first)), kept };
}
