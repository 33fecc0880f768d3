import { cutText } from '../../domain/text/cut-text.ts';
import { isObject } from '../../domain/text/parse-json.ts';
import { canonicalJson } from '../../events/canonical-json.ts';
import type { DataOf } from '../../events/catalogue.ts';
import { openAppender } from '../../platform/open-appender.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { type LineageRecord, readLineages } from '../../projections/training-pool/read-lineages.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { linearBackend } from '../../training/backends/linear/linear-backend.ts';
import { checkName } from '../../training/leases/check-request.ts';
import type { RegisterRequest } from '../../training/leases/protocol.ts';
import { TrainingRefused } from '../../training/read-plan-request.ts';
import { findHead } from '../../training/versions/read-batch-update.ts';
import { declareTraining, trainingDeclared } from './batcher/declare-training.ts';
import type { Declaration } from './declaration/declaration-fields.ts';
import { isOwn, planRulesOf, trainerOf } from './declaration/trainer-of.ts';
import { makeFirstVersion } from './open-backend.ts';

const CATCH_UP_MS = 30_000; // a member that is frozen keeps its partitions for 10 s
const PRODUCER = 'training-api';

/** `first`: the version to register; null where the trainer makes it, as it begins. */
export type PolicyDeclared =
  | { readonly kind: 'declared'; readonly lineageId: string; readonly first: RegisterRequest | null }
  | {
      readonly kind: 'refused';
      readonly code: 'invalid' | 'declared-otherwise';
      readonly message: string;
      readonly remedy: string;
    };
type World = Pick<Platform, 'database' | 'log' | 'blobs' | 'stamp'>;

/** Declares the training of a policy, by whatever backend. Declaring the same again changes nothing. */
export async function declarePolicy(world: World, policyId: string, declaration: Declaration): Promise<PolicyDeclared> {
  const misnamed = checkName('policyId', policyId);
  if (misnamed) return refuse(misnamed.message, misnamed.remedy);
  const { backend, weights } = declaration;
  const { estimator, seed } = declaration;
  const whole = { policyId, estimator, rules: planRulesOf(declaration), seed, trainer: trainerOf(declaration) };
  const wanted = read(() => trainingDeclared(whole));
  if ('message' in wanted) return refuse(wanted.message, 'correct it and send it again');
  const recorded = await inTurn(policyId, async () => {
    const [known] = await readLineages(world.database.db, [policyId]);
    return known ?? record(world, whole);
  });
  const difference = recorded && findDifference(recorded, wanted, declaration);
  if (difference)
    return {
      kind: 'refused',
      code: 'declared-otherwise',
      message: `the policy ${policyId} is declared with another ${difference}`,
      remedy: 'repeat that declaration, or name another policy: all batches of one policy are planned and trained alike',
    };
  const { lineageId } = wanted;
  if (weights !== undefined)
    return { kind: 'declared', lineageId, first: { policyId, backend, weights, kept: declaration.kept ?? null } };
  if (backend === 'linear')
    return { kind: 'declared', lineageId, first: await makeFirstVersion(world.blobs, linearBackend(), policyId) };
  return { kind: 'declared', lineageId, first: isOwn(backend) ? null : await knownFirst(world, policyId) };
}

/** The first version of a trainer elsewhere that names no weights: what was registered before, null where nothing was. */
async function knownFirst({ database }: World, policyId: string): Promise<RegisterRequest | null> {
  const head = await findHead(database.db, policyId, 0);
  return head && { policyId, backend: head.backend, weights: head.weights, kept: head.kept };
}

/** Appends a declaration, and returns what is recorded of the policy then: of two that were declared at once, the first. */
async function record(world: World, whole: Parameters<typeof declareTraining>[1]) {
  const { database, log } = world;
  await declareTraining(openAppender(world, PRODUCER), whole);
  await waitUntilProjected(database.db, await log.ends(['training']), { timeoutMs: CATCH_UP_MS });
  return (await readLineages(database.db, [whole.policyId]))[0];
}

const turns = new Map<string, Promise<unknown>>();

/** Declares a policy once at a time in this process: of many that race, all but the first find it recorded. */
async function inTurn<T>(policyId: string, work: () => Promise<T>): Promise<T> {
  const before = turns.get(policyId) ?? Promise.resolve();
  const own = before.then(work, work);
  const settled = own.catch(() => undefined);
  turns.set(policyId, settled);
  try {
    return await own;
  } finally {
    if (turns.get(policyId) === settled) turns.delete(policyId);
  }
}

/**
 * Names what a recorded declaration has otherwise; null where they are the same. A trainer elsewhere may be renamed. What was
 * declared before computations were is the same as a declaration that names none.
 */
function findDifference(recorded: LineageRecord, wanted: DataOf<'TrainingDeclared'>, declaration: Declaration): string | null {
  const { torch: _, ...elsewhere } = declaration;
  const minimal = withoutBackend(trainerOf({ ...elsewhere, backend: 'external' }));
  const known = withoutBackend(recorded.trainer);
  const both = known.settings === undefined && canonicalJson(minimal) === canonicalJson(known);
  const parts = ({ estimator, rules, seed }: Pick<LineageRecord, 'estimator' | 'rules' | 'seed'>, trainer: object) => ({
    estimator,
    rules,
    seed,
    ...trainer,
  });
  return firstDifference(parts(recorded, known), parts(wanted, both ? known : withoutBackend(wanted.trainer)));
}

function withoutBackend(trainer: unknown): Readonly<Record<string, unknown>> {
  const { backend: _, ...rest } = (trainer ?? {}) as Record<string, unknown>; // any JSON: a value that is no object has no fields
  return rest;
}

function read<Value>(make: () => Value): Value | TrainingRefused {
  try {
    return make();
  } catch (error) {
    if (error instanceof TrainingRefused) return error;
    throw error;
  }
}

function refuse(message: string, remedy: string): PolicyDeclared {
  return { kind: 'refused', code: 'invalid', message, remedy };
}

/** Names the first field in which two JSON objects differ, with the value of the first one; null where they are the same. */
function firstDifference(one: object, other: object): string | null {
  const [a, b] = [one as Record<string, unknown>, other as Record<string, unknown>];
  for (const field of [...new Set([...Object.keys(a), ...Object.keys(b)])].sort()) {
    const [x, y] = [a[field], b[field]];
    if (canonicalJson([x ?? null]) === canonicalJson([y ?? null])) continue;
    if (!isObject(x) || !isObject(y)) return `${field} (${x === undefined ? 'none' : cutText(canonicalJson(x), 200)})`;
    const within = firstDifference(x, y);
    if (within !== null) return `${field}.${within}`;
  }
  return null;
}
