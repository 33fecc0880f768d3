import type { BlobStore } from '../../blobs/blob-store.ts';
import { decodeWeights } from '../../policies/linear/weights.ts';
import { linearPolicy } from '../../policies/linear-policy.ts';
import type { Policy } from '../../policies/policy.ts';
import { type ActingOptions, PolicySpecError } from '../../policies/policy-entry.ts';
import { createPolicy, parsePolicyText } from '../../policies/policy-spec.ts';
import { servedPolicy } from '../../policies/served/served-policy.ts';
import { shareGate } from '../../policies/served/shared-gate.ts';
import type { Db } from '../../postgres/database.ts';
import { readLineages } from '../../projections/training-pool/read-lineages.ts';
import type { Config } from '../../runtime/config.ts';
import { linearBackend } from '../backends/linear/linear-backend.ts';
import { checkpointFolder, decodeTorchCheckpoint, torchManifests } from '../backends/torch/torch-checkpoint.ts';
import { torchFolder } from '../backends/torch/torch-folder.ts';
import { torchPlan } from '../backends/torch/torch-plan.ts';
import { readCheckpoint } from '../checkpoints/checkpoint-store.ts';
import type { Head } from '../leases/protocol.ts';
import { modelServerOf } from '../servers/open-model-server.ts';

/** What the versions of a policy are made from: read models, blobs, and the machine's own folders and programs. */
export interface VersionWorld {
  readonly database: { readonly db: Db };
  readonly blobs: BlobStore;
  readonly config: Pick<Config, 'home' | 'python' | 'openai'>;
}

/** Makes the policy that acts by a version, by the kind of its weights. Who opens it closes it. */
export interface VersionMaker {
  /** @throws CheckpointDamaged; PolicySpecError where the options do not go with the weights. */
  make(head: Head): Promise<Policy>;
  close(): Promise<void>;
}

/** Opens what makes the versions of a policy act; what it needs is opened by the first version. */
export function versionMaker(world: VersionWorld, policyId: string, acting: ActingOptions): VersionMaker {
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
