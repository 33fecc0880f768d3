import type { BlobStore } from '../../blobs/blob-store.ts';
import { blobReferences } from '../../events/blob-references.ts';
import { trainingChannel } from '../../events/schemas/training.ts';
import type { Db } from '../../postgres/database.ts';
import { may, owns, type Principal } from '../../postgres/principal.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { readForeignPayloads, readOwners } from '../../projections/owners/read-owners.ts';
import { lineageIdOf } from '../../training/leases/lineage-of.ts';
import type { Problem } from '../reply.ts';
import type { SentEvent } from './check-events.ts';
import type { Reason } from './refuse-events.ts';

export interface NamedWorld {
  readonly db: Db;
  readonly blobs: BlobStore;
  /** Waits, within a limit, until the read models hold the annotations of now; returns whether they do. */
  readonly annotationsFolded: () => Promise<boolean>;
}

export type NamedChecked =
  | { readonly kind: 'allowed' | 'undecided' }
  | { readonly kind: 'refused'; readonly reason: Reason; readonly problems: readonly Problem[] };

/**
 * Checks what events name besides their stream and what no fold refuses: what belongs to another key or project, and payloads that
 * nobody could read. Whether steps, rollouts and rewards are on record is for the folds, which set aside what misses them.
 */
export async function checkNamed(events: readonly SentEvent[], principal: Principal, world: NamedWorld): Promise<NamedChecked> {
  if (principal.keyId !== null) {
    const judgements = await takenJudgements(events, world.db);
    if (judgements.length > 0) return { kind: 'refused', reason: 'conflict', problems: judgements };
    const policies = await foreignPolicies(events, principal, world.db);
    if (policies.length > 0) return { kind: 'refused', reason: 'not-owned', problems: policies };
    const retractions = may(principal, 'admin') ? [] : await foreignRetractions(events, principal, world);
    if (retractions === 'undecided') return { kind: 'undecided' };
    if (retractions.length > 0) return { kind: 'refused', reason: 'not-owned', problems: retractions };
  }
  const missing = await missingBlobs(events, principal, world);
  return missing.length > 0 ? { kind: 'refused', reason: 'unknown', problems: missing } : { kind: 'allowed' };
}

/**
 * Finds judgements under the id of a step of the same tree: prompts of steps and of judgements are identified by these ids
 * together, so that the prompt of the judgement would take the place of that of the step.
 */
async function takenJudgements(events: readonly SentEvent[], db: Db): Promise<readonly Problem[]> {
  const judgements = events.flatMap(({ index, event }) => {
    if (event.type !== 'PromptShown' || event.data.judgementId === undefined) return [];
    return [{ index, id: event.id, stepId: event.data.judgementId, treeId: event.data.treeId }];
  });
  if (judgements.length === 0) return [];
  const [stepId, treeId] = [judgements.map((of) => of.stepId), judgements.map((of) => of.treeId)];
  const steps = await rowsWhere(db, 'steps', { stepId, treeId }, ['stepId', 'treeId']);
  return judgements.flatMap(({ index, id, ...of }): Problem[] => {
    if (!steps.some((step) => step.stepId === of.stepId && step.treeId === of.treeId)) return [];
    const message = `the id ${of.stepId} is taken: a step of tree ${of.treeId} has it`;
    return [{ index, id, path: 'data.judgementId', message, remedy: 'choose another: a random UUID is never taken' }];
  });
}

/** Finds runs that would feed the training of a policy which belongs to another project: its batches are made of its own runs. */
async function foreignPolicies(events: readonly SentEvent[], { project }: Principal, db: Db): Promise<readonly Problem[]> {
  const feeding = events.flatMap(({ index, event }) => {
    if (event.type !== 'RunStarted') return [];
    const named = trainingChannel.safeParse((event.data.config as { training?: unknown } | null)?.training); // any JSON
    return named.success ? [{ index, id: event.id, policyId: named.data.policyId }] : [];
  });
  const lineages = feeding.map(({ policyId }) => lineageIdOf(policyId));
  const owners = await readOwners(db, 'training', lineages);
  return feeding.flatMap(({ index, id, policyId }): Problem[] => {
    const owner = owners.get(lineageIdOf(policyId));
    if (owner === undefined || owner.project === project) return [];
    const message = `the policy name ${JSON.stringify(policyId)} is taken by another project`;
    const remedy = 'name a policy of the project that the key writes, or leave training out';
    return [{ index, id, path: 'data.config.training.policyId', message, remedy }];
  });
}

/** Finds retractions of annotations that another key added: who added one retracts it, or an administrator. */
async function foreignRetractions(
  events: readonly SentEvent[],
  principal: Principal,
  { db, annotationsFolded }: NamedWorld,
): Promise<readonly Problem[] | 'undecided'> {
  const retractions = events.flatMap(({ index, event }) => (event.type === 'AnnotationRetracted' ? [{ index, event }] : []));
  if (retractions.length === 0) return [];
  if (!(await annotationsFolded())) return 'undecided'; // one that is added in the same request may be on record already
  const annotationId = retractions.map(({ event }) => event.data.annotationId);
  const added = await rowsWhere(db, 'annotations', { annotationId }, ['annotationId', 'treeId', 'principal']);
  return retractions.flatMap(({ index, event: { id, data } }): Problem[] => {
    const author = added.find((row) => row.annotationId === data.annotationId && row.treeId === data.treeId)?.principal;
    if (author === undefined || owns(principal, author)) return [];
    const message = `annotation ${data.annotationId} was added by ${author}`;
    const remedy = 'retract it with that key, or one of the scope admin';
    return [{ index, id, path: 'data.annotationId', message, remedy }];
  });
}

/** Finds references to payloads that the blob store does not hold, or that belong to other projects alone. */
async function missingBlobs(
  events: readonly SentEvent[],
  { keyId, project }: Principal,
  { db, blobs }: NamedWorld,
): Promise<readonly Problem[]> {
  const named = events.flatMap(({ index, event }) =>
    namesBlob(event.data)
      ? blobReferences(event).map(({ path, reference }) => ({ index, id: event.id, path, sha256: reference.blob }))
      : [],
  );
  const sha256s = new Set(named.map(({ sha256 }) => sha256));
  const hidden = keyId === null ? new Set() : await readForeignPayloads(db, [...sha256s], [project]);
  const missing = new Set<string>();
  for (const sha256 of sha256s) if (hidden.has(sha256) || !(await blobs.has(sha256))) missing.add(sha256);
  const remedy = 'send the text or the bytes inline, of any size: the server moves them there';
  return named.flatMap(({ sha256, ...place }): Problem[] =>
    missing.has(sha256) ? [{ ...place, message: `no payload ${sha256} is in the blob store`, remedy }] : [],
  );
}

/** Whether anything within looks like a reference: few events hold one, and paths are made of those alone. */
function namesBlob(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(namesBlob);
  return 'blob' in value || Object.values(value).some(namesBlob);
}
