import type { Envelope } from '../events/envelope.ts';
import type { EventBuilder } from './event-builder.ts';

/** Returns events of a new run: the second of two steps without the first, which waits in quarantine, and the first. */
export function stepBeforeItsParent(
  builder: EventBuilder,
  name = 'early',
): { readonly early: readonly Envelope[]; readonly parent: Envelope } {
  const from = builder.events.length;
  const tree = builder.tree(builder.run(name), name);
  const rollout = builder.rollout(tree);
  builder.step(tree, rollout, builder.step(tree, rollout, tree.rootStepId, 1), 2);
  const [run, opened, started, parent, early] = builder.events.slice(from);
  if (!run || !opened || !started || !parent || !early) throw new Error('a run, a tree, a rollout and two steps are five events');
  return { early: [run, opened, started, early], parent };
}
