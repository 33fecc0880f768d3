import { readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { sha256Hex, sha256OfFile } from '../../digest/sha256.ts';
import { isOptions, type Options } from '../../domain/experiment/change-options.ts';
import { stageKey } from '../../domain/experiment/stage-key.ts';
import { seedFrom } from '../../domain/random/seed-from.ts';
import { openEnvironment } from '../../environments/open-environment.ts';
import { canonicalJson } from '../../events/canonical-json.ts';
import { CODE_VERSION } from '../../platform/code-version.ts';
import { createPolicy, parsePolicyText } from '../../policies/policy-spec.ts';
import type { StageOutput } from '../../projections/experiment-stages/read-stages.ts';
import { RunRefused } from '../collect/hold-run.ts';
import type { PlannedStage } from './declaration/experiment.ts';
import { STAGES } from './stages/stages.ts';

/** Looks up what the options of stages name, once for each name. */
export type Fingerprints = (stage: PlannedStage) => Promise<Readonly<Record<string, string>>>;

/** Returns the seed of a stage in a repetition; 0 where nothing is drawn. */
export function seedOf({ name, kind, form, options }: PlannedStage, repetition: number): number {
  const { seededBy } = STAGES[form];
  if (seededBy === 'nothing') return 0;
  if ('seed' in options && options.seed !== undefined) return options.seed;
  return seedFrom('experiment', seededBy === 'kind' ? kind : name, repetition);
}

/** Returns the key of a stage: see `stageKey`. */
export async function keyOfStage(
  stage: PlannedStage,
  seed: number,
  used: Readonly<Record<string, StageOutput>>,
  fingerprintsOf: Fingerprints,
): Promise<string> {
  const { seed: _seed, ...options } = unnamed(stage.options);
  const digests = Object.fromEntries(Object.entries(used).map(([option, { digest }]) => [option, digest]));
  return stageKey(
    {
      kind: stage.form,
      options,
      seed,
      codeVersion: CODE_VERSION,
      used: digests,
      fingerprints: await fingerprintsOf(stage),
    },
    (value) => sha256Hex(canonicalJson(value)),
  );
}

/** Opens fingerprints: environments, files of weights and model folders are read once for all stages of a process. */
export function openFingerprints(): Fingerprints {
  const known = new Map<string, Promise<string>>();
  const once = (name: string, look: () => Promise<string>) => {
    const found = known.get(name) ?? look();
    known.set(name, found);
    return found;
  };
  return async ({ options }) => {
    const named: Record<string, string> = {};
    const environment = 'environment' in options ? options.environment : undefined;
    if (environment !== undefined) named.environment = await once(`environment ${environment}`, () => fingerprintOf(environment));
    for (const field of ['policy', 'from'] as const) {
      const policy = (options as Options)[field];
      if (typeof policy === 'string') named[field] = await once(`policy ${policy}`, () => digestOf(policy));
    }
    const folder = modelFolderOf(options);
    if (folder !== null) named.model = await once(`folder ${folder}`, () => digestOfContent(folder));
    return named;
  };
}

async function fingerprintOf(environment: string): Promise<string> {
  const kind = await openEnvironment(environment);
  try {
    return kind.fingerprint;
  } finally {
    await kind.close();
  }
}

/** The SHA-256 of the file that a policy is read from; of the others their text says all there is. */
async function digestOf(text: string): Promise<string> {
  const spec = parsePolicyText(text);
  if (spec.kind !== 'linear') return '';
  const policy = await createPolicy(spec);
  await policy.close();
  return policy.digest ?? '';
}

/** The folder of the model that is trained; null for a model of another kind, and where none is trained. */
function modelFolderOf(options: object): string | null {
  const { torch } = options as Options;
  const model = isOptions(torch) ? torch.model : undefined;
  return isOptions(model) && model.kind === 'folder' && typeof model.path === 'string' ? model.path : null;
}

/** Options without the names of stages and folders: what these came to, and hold, is in the key. */
function unnamed(options: object): Options {
  return Object.fromEntries(
    Object.entries(options).flatMap(([field, value]): [string, unknown][] => {
      if (field === 'of' || field === 'on') return [];
      if (field === 'torch' && modelFolderOf(options) !== null && isOptions(value) && isOptions(value.model))
        return [[field, { ...value, model: { ...value.model, path: '' } }]];
      return [[field, isOptions(value) && typeof value.of === 'string' ? 'of' : value]];
    }),
  );
}

/**
 * Returns the digest of a file, or of what a folder holds: the names of its files at any depth, and their contents. Links are
 * followed, as transformers follows those of its cache. @throws RunRefused if it cannot be read.
 */
export async function digestOfContent(path: string): Promise<string> {
  try {
    const names = (await stat(path)).isFile() ? [''] : (await readdir(path, { recursive: true })).sort();
    const lines: string[] = [];
    for (const file of names.map((name) => join(path, name)))
      if ((await stat(file)).isFile()) lines.push(`${await sha256OfFile(file)} ${relative(path, file)}`);
    return sha256Hex(lines.join('\n'));
  } catch (cause) {
    throw new RunRefused(`${path} cannot be read (${(cause as NodeJS.ErrnoException).code}); name an existing file or folder`);
  }
}
