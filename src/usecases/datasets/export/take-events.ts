import type { Envelope } from '../../../events/envelope.ts';
import { isTreeEvent, type TreeEvent, TreeShape } from '../tree-shape.ts';

/** An event at a place of the log where it may take effect: where it was appended, or where it was released from a quarantine. */
export interface PlacedEvent {
  readonly event: Envelope;
  /** A read model refused it at this place, and set it aside. */
  readonly refused: boolean;
}

/** What of a stream took effect, each event once and at the place where it did, and how many events did nowhere. */
export interface EffectiveEvents<E extends Envelope = Envelope> {
  readonly events: readonly E[];
  readonly leftOut: number;
}

/**
 * Takes what took effect in a tree, in the order in which it did. What waits in quarantine is left out, and so is what refers to
 * it; an event that was released is taken where the release lies. Nothing changes its place, so that a fold of what is taken
 * returns the rewards and the tree of the record.
 * @param placed the events of the tree's stream in the order of the log, those released at both of their places.
 */
export function takeTree(placed: readonly PlacedEvent[]): EffectiveEvents<TreeEvent> {
  const dropped = new Set<string>();
  for (;;) {
    const shape = new TreeShape();
    const taken = take(
      placed,
      (event): event is TreeEvent => isTreeEvent(event) && !dropped.has(event.id) && shape.refuse(event) === null,
    );
    const dangling = shape.dangling();
    if (dangling.size === 0) return taken;
    for (const { id } of dangling.keys()) dropped.add(id); // what revises or judges them goes with them
  }
}

/** Takes what took effect in a stream that is no tree. */
export function takeStream(placed: readonly PlacedEvent[]): EffectiveEvents {
  return take(placed, (event): event is Envelope => !isTreeEvent(event));
}

function take<E extends Envelope>(placed: readonly PlacedEvent[], holds: (event: Envelope) => event is E): EffectiveEvents<E> {
  const taken = new Map<string, E>();
  const met = new Set<string>();
  for (const { event, refused } of placed) {
    met.add(event.id);
    if (!refused && !taken.has(event.id) && holds(event)) taken.set(event.id, event);
  }
  return { events: [...taken.values()], leftOut: met.size - taken.size };
}
