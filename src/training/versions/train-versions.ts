import { setTimeout as delay } from 'node:timers/promises';
import type { Policy } from '../../policies/policy.ts';
import type { ActingOptions, VersionSource } from '../../policies/policy-entry.ts';
import { newestHead, readHead } from './read-heads.ts';
import { type VersionMaker, type VersionWorld, versionMaker } from './version-maker.ts';

const POLL_MS = 50; // between two looks at the read models while a collector acts; an update takes longer
const FIRST_MS = 60_000;

/** No version of the policy was ever made. */
export class NoVersion extends Error {
  override readonly name = 'NoVersion';
}

/** Follows the versions of a policy as they appear in the read models, whatever made them. */
export function followVersions(world: VersionWorld, policyId: string, acting: ActingOptions = {}): VersionSource {
  const { db } = world.database;
  const maker: VersionMaker = versionMaker(world, policyId, acting);
  let known: Policy | null = null;
  let looked = Number.NEGATIVE_INFINITY;
  let looking: Promise<void> | null = null;

  async function look(): Promise<void> {
    const head = await newestHead(db, policyId);
    looked = performance.now();
    if (head === null || (known !== null && head.version <= known.ref.version)) return;
    known = await maker.make(head);
  }
  async function lookOnce(): Promise<void> {
    looking ??= look().finally(() => {
      looking = null;
    });
    await looking;
  }
  async function atLeast(version: number, signal: AbortSignal): Promise<Policy> {
    const deadline = performance.now() + FIRST_MS;
    for (;;) {
      signal.throwIfAborted();
      if (known !== null && known.ref.version >= version) return known;
      await lookOnce();
      if (known !== null && known.ref.version >= version) return known;
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
    async exactly(version, signal) {
      const newest = await atLeast(0, signal);
      if (version > newest.ref.version)
        throw new NoVersion(`the policy ${policyId} has the versions 0 to ${newest.ref.version}, and not ${version}`);
      return maker.make(await readHead(db, policyId, version));
    },
    close: () => maker.close(),
  };
}
