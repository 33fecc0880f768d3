import type { Db } from '../../postgres/database.ts';
import type { Principal } from '../../postgres/principal.ts';
import type { Problem } from '../reply.ts';
import type { Sent } from './check-events.ts';
import { findKnown, type Known, KnownSet } from './known-references.ts';
import type { Reference } from './references.ts';

/**
 * Finds judgements that a key gives the id of a step of the same tree: prompts of steps and of judgements are identified by these
 * ids together, so that the prompt of the judgement would take the place of that of the step.
 */
export async function takenJudgements(
  events: readonly Sent[],
  { keyId }: Pick<Principal, 'keyId'>,
  world: { readonly db: Db; readonly recent: Known },
): Promise<readonly Problem[]> {
  if (keyId === null) return [];
  const named = events.flatMap((sent): { sent: Sent; step: Reference }[] => {
    if (sent.event.type !== 'PromptShown') return [];
    const { judgementId: id, treeId } = sent.event.data;
    return id === undefined ? [] : [{ sent, step: { kind: 'step', id, field: 'data.judgementId', treeId } }];
  });
  if (named.length === 0) return [];
  const found = new KnownSet();
  found.add(
    await findKnown(
      world.db,
      named.map(({ step }) => step),
    ),
  );
  return named.flatMap(({ sent, step: { id, field, treeId } }): Problem[] => {
    const isStep = [found, world.recent].some((known) => known.get('step', id, treeId)?.treeId === treeId);
    if (!isStep) return [];
    const message = `the id ${id} is taken: a step of tree ${treeId} has it`;
    return [
      { index: sent.index, id: sent.event.id, path: field, message, remedy: 'choose another: a random UUID is never taken' },
    ];
  });
}
