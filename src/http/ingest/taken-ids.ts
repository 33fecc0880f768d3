import { isDerived } from '../../events/derived-id.ts';
import type { Envelope } from '../../events/envelope.ts';
import type { Db } from '../../postgres/database.ts';
import type { Principal } from '../../postgres/principal.ts';
import type { DeclaredKind } from '../../projections/read-declarations.ts';
import type { Problem } from '../reply.ts';
import type { Sent } from './check-events.ts';
import { findKnown, type Known, KnownSet } from './known-references.ts';
import type { Reference } from './references.ts';

/**
 * Finds ids that the events of a key give to something of their tree and that are on record in another one. Several read models
 * know a step, a rollout or a reward by its id alone, so that what is said of one here would count there, whoever owns it.
 * @param world what is on record of all projects: in the read models, and appended lately.
 */
export async function takenIds(
  events: readonly Sent[],
  { keyId }: Pick<Principal, 'keyId'>,
  world: { readonly db: Db; readonly recent: Known },
): Promise<readonly Problem[]> {
  if (keyId === null) return [];
  const given = events.flatMap((sent) => givenBy(sent.event).map((reference) => ({ sent, reference })));
  if (given.length === 0) return [];
  const found = new KnownSet();
  found.add(
    await findKnown(
      world.db,
      given.map(({ reference }) => reference),
    ),
  );
  return given.flatMap(({ sent, reference: { kind, id, field, treeId } }): Problem[] => {
    const before = found.get(kind, id, treeId) ?? world.recent.get(kind, id, treeId);
    if (before === undefined || before.treeId === treeId) return [];
    const message = `the id ${id} is taken: ${treeId === null ? 'a' : 'another'} ${kind} has it`;
    return [
      { index: sent.index, id: sent.event.id, path: field, message, remedy: 'choose another: a random UUID is never taken' },
    ];
  });
}

/**
 * Lists the ids that an event declares something by, each with the tree in which it may be on record; null: in none. One of
 * version 8 follows from ids of its own tree, as was checked before, and nothing else has it.
 */
function givenBy(event: Envelope): readonly Reference[] {
  const given = (kind: DeclaredKind, id: string, field: string, treeId: string | null): readonly Reference[] =>
    isDerived(id) ? [] : [{ kind, id, field: `data.${field}`, treeId }];
  switch (event.type) {
    case 'TreeOpened':
      return given('step', event.data.rootStepId, 'rootStepId', event.data.treeId);
    case 'RolloutStarted':
      return given('rollout', event.data.rolloutId, 'rolloutId', event.data.treeId);
    case 'StepTaken':
      return given('step', event.data.stepId, 'stepId', event.data.treeId);
    case 'CallCaptured': {
      const { stepId: id, treeId } = event.data;
      return id === null ? [] : given('step', id, 'stepId', treeId);
    }
    case 'RewardAssigned':
      return given('reward', event.data.rewardId, 'rewardId', event.data.treeId);
    case 'RevisionComposed':
      return given('revision', event.data.revisionId, 'revisionId', event.data.treeId);
    case 'AnnotationAdded': {
      const { annotationId: id, treeId } = event.data;
      return [{ kind: 'annotation', id, field: 'data.annotationId', treeId }];
    }
    case 'PromptShown': {
      const { judgementId: id, treeId } = event.data;
      if (id === undefined) return [];
      // prompts of steps and of judgements are known by these ids together: it is to be no step, of its own tree neither
      return [...given('prompt', id, 'judgementId', treeId), ...given('step', id, 'judgementId', null)];
    }
    default:
      return []; // declares none, or what is known by its tree and its id together
  }
}
