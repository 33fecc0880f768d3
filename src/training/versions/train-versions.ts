import { setTimeout as delay } from 'node:timers/promises';
import type { BlobStore } from '../../blobs/blob-store.ts';
import { decodeWeights } from '../../policies/linear/weights.ts';
import { linearPolicy } from '../../policies/linear-policy.ts';
import type { Policy } from '../../policies/policy.ts';
import { type ActingOptions, PolicySpecError, type VersionSource } from '../../policies/policy-entry.ts';
import { createPolicy, parsePolicyText } from '../../policies/policy-spec.ts';
import { servedPolicy } from '../../policies/served/served-policy.ts';
import { shareGate } from '../../policies/served/weights-gate.ts';
import type { Db } from '../../postgres/database.ts';
import { readLineages } from '../../projections/training-pool/read-lineages.ts';
import type { Config } from '../../runtime/config.ts';
import { linearBackend } from '../backends/linear/linear-backend.ts';
import { checkpointFolder, decodeTorchCheckpoint, torchManifests } from '../backends/torch/torch-checkpoint.ts';
import { torchFolder, torchPlan } from '../backends/torch/torch-plan.ts';
import { readCheckpoint } from '../checkpoints/checkpoint-store.ts';
import type { Head } from '../leases/protocol.ts';
import { modelServerOf } from '../servers/open-model-server.ts';
import { newestHead, readHead } from './read-batch-update.ts';

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

/** What the versions of a policy are made from: read models, blobs, and the machine's own folders and programs. */
interface VersionWorld {
  readonly database: { readonly db: Db };
  readonly blobs: BlobStore;
  readonly config: Pick<Config, 'home' | 'python' | 'openai'>;
}

/** Makes the policy that acts by a version, by the kind of its weights. Who opens it closes it. */
interface VersionMaker {
  /** @throws CheckpointDamaged; PolicySpecError where the options do not go with the weights. */
  make(head: Head): Promise<Policy>;
  close(): Promise<void>;
}

/** Opens what makes the versions of a policy act; what it needs is opened by the first version. */
function versionMaker(world: VersionWorld, policyId: string, acting: ActingOptions): VersionMaker {
  let opened: Promise<VersionMaker> | null = null;
  return {
    async make(head) {
      opened ??= makerOf(head.backend, world, policyId, acting);
      return (await opened).make(head);
    },
    async close() {
      await (await opened?.catch(() => null))?.close();
    },
  };
}

async function makerOf(backend: string, world: VersionWorld, policyId: string, acting: ActingOptions): Promise<VersionMaker> {
  if (backend === 'linear') return linearVersions(world, policyId, acting);
  if (backend === 'torch') return torchVersions(world, policyId, acting);
  return versionsElsewhere(backend, world, policyId, acting);
}

function linearVersions({ blobs }: VersionWorld, policyId: string, acting: ActingOptions): VersionMaker {
  const { temperature, ...others } = acting;
  refuseGiven(others, `chooses among actions: the policy ${policyId} is linear and needs no model server; leave it out`);
  const backend = linearBackend();
  return {
    async make(head) {
      const weights = decodeWeights(backend.weightsOf(await readCheckpoint(blobs, backend, head)));
      return { ...linearPolicy(weights, { policyId, temperature }), digest: head.weights };
    },
    close: () => backend.close(),
  };
}

/** A language model acts by a model server, one for all its versions in this process. */
async function torchVersions(world: VersionWorld, policyId: string, acting: ActingOptions): Promise<VersionMaker> {
  const { server = 'own', by, ...sent } = acting;
  refuseGiven(
    { by },
    `is for trainers elsewhere: the policy ${policyId} is trained here and acts by its own weights; leave it out`,
  );
  const { database, blobs, config } = world;
  const [lineage] = await readLineages(database.db, [policyId]);
  const declared = torchPlan.safeParse((lineage?.trainer as { readonly torch?: unknown } | undefined)?.torch).data;
  const precision = declared?.model.kind === 'folder' ? declared.model.precision : undefined;
  const open = modelServerOf(server, { config, precision });
  const { gate, leave } = shareGate(JSON.stringify([config.home, policyId, server]), open);
  const maxTokens = sent.maxTokens ?? declared?.maxTokens;
  return {
    async make(head) {
      const manifest = decodeTorchCheckpoint(await readCheckpoint(blobs, torchManifests, head));
      const folder = checkpointFolder(torchFolder(config), manifest);
      const version = { policyId, version: head.version, folder, tensors: manifest.weights };
      return { ...servedPolicy(gate, version, { ...sent, maxTokens }), digest: head.weights };
    },
    close: leave,
  };
}

/** Weights of a trainer elsewhere act by what serves them. It loads a version before it acknowledges it: the newest one acts. */
async function versionsElsewhere(
  backend: string,
  { config }: VersionWorld,
  policyId: string,
  acting: ActingOptions,
): Promise<VersionMaker> {
  const { by, server, ...sent } = acting;
  refuseGiven(
    { server },
    `exchanges weights that lie here, and the backend ${backend} keeps those of ${policyId} elsewhere; leave it out`,
  );
  if (by === undefined)
    throw new PolicySpecError(
      'by',
      `must say what acts for ${policyId}: the backend ${backend} keeps its weights elsewhere; write for example {"kind":"live","policyId":${JSON.stringify(policyId)},"by":"openai:MODEL@URL"}`,
    );
  const spec = parsePolicyText(by);
  if (spec.kind === 'live') throw new PolicySpecError('by', 'names a policy that is trained; name the one that acts for it');
  const given = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== undefined));
  const policy = await createPolicy(parsePolicyText(JSON.stringify({ ...spec, ...given })), {
    apiKey: config.openai.apiKey ?? undefined,
  });
  return {
    async make({ version }) {
      const ref = { policyId, version };
      return {
        ...policy,
        ref,
        act: async (request, signal) => (await policy.act(request, signal)).map((act) => ({ ...act, policy: ref })),
        close: async () => undefined,
      };
    },
    close: () => policy.close(),
  };
}

function refuseGiven(options: Readonly<Record<string, unknown>>, why: string): void {
  const given = Object.entries(options).find(([, value]) => value !== undefined)?.[0];
  if (given !== undefined) throw new PolicySpecError(given, why);
}
