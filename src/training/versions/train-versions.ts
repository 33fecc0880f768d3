import { setTimeout as delay } from 'node:timers/promises';
import type { BlobStore } from '../../blobs/blob-store.ts';
import { decodeWeights, type LinearWeights } from '../../policies/linear/weights.ts';
import type { VersionSource } from '../../policies/policy-entry.ts';
import type { Db } from '../../postgres/database.ts';
import { linearBackend } from '../backends/linear/linear-backend.ts';
import { readCheckpoint } from '../checkpoints/checkpoint-store.ts';
import { newestHead } from './read-heads.ts';

const POLL_MS = 50; // between two looks at the read models while a collector acts; an update takes longer
const FIRST_MS = 60_000;

/** No version of the policy was ever made. */
export class NoVersion extends Error {
  override readonly name = 'NoVersion';
}

/** Follows the versions of a linear policy as they appear in the read models. */
export function followVersions(
  { db, blobs }: { readonly db: Db; readonly blobs: BlobStore },
  policyId: string,
): VersionSource & {
  /** Returns weights of a version at least as new: who has read that it exists waits for nothing. */
  atLeast(version: number, signal: AbortSignal): Promise<LinearWeights>;
} {
  const backend = linearBackend();
  let known: LinearWeights | null = null;
  let looked = Number.NEGATIVE_INFINITY;
  let looking: Promise<void> | null = null;

  async function look(): Promise<void> {
    const head = await newestHead(db, policyId);
    looked = performance.now();
    if (head === null || (known !== null && head.version <= known.version)) return;
    known = decodeWeights(backend.weightsOf(await readCheckpoint(blobs, backend, head)));
  }
  async function lookOnce(): Promise<void> {
    looking ??= look().finally(() => {
      looking = null;
    });
    await looking;
  }
  async function atLeast(version: number, signal: AbortSignal): Promise<LinearWeights> {
    const deadline = performance.now() + FIRST_MS;
    for (;;) {
      signal.throwIfAborted();
      if (known !== null && known.version >= version) return known;
      await lookOnce();
      if (known !== null && known.version >= version) return known;
      if (performance.now() > deadline)
        throw new NoVersion(`there is no version ${version} of the policy ${policyId}; begin it with \`espalier train\``);
      await delay(POLL_MS, undefined, { signal });
    }
  }
  return {
    atLeast,
    async newest(signal) {
      if (known !== null && performance.now() - looked > POLL_MS) await lookOnce();
      return known ?? atLeast(0, signal);
    },
    close: () => backend.close(),
  };
}
