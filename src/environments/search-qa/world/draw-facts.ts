import type { Random } from '../../../domain/random/random.ts';
import { type EntityKind, RELATIONS, type Relation } from './relations.ts';

export interface Entity {
  readonly kind: EntityKind;
  readonly name: string;
}

/** That `relation` leads from `subject` to `object`, and the sentence that states it. */
export interface Fact {
  readonly relation: Relation;
  readonly subject: Entity;
  readonly object: Entity;
  readonly text: string;
}

/** Draws the facts of a realm: every relation for every entity that it leads from. Marriages are mutual. */
export function drawFacts(entities: readonly Entity[], random: Random): Fact[] {
  const of = (kind: EntityKind) => entities.filter((entity) => entity.kind === kind);
  const spouses = pairUp(of('person'), random);
  return RELATIONS.flatMap((relation) =>
    of(relation.from).map((subject) => {
      // The one relation within a kind, so that the draw can never give an entity itself.
      const object = spouses.get(relation.key === 'spouse' ? subject : null) ?? random.choice(of(relation.to));
      return { relation, subject, object, text: capitalise(relation.phrase(inSentence(subject), inSentence(object))) };
    }),
  );
}

/** Writes an entity's name as it is written within a sentence. */
export function inSentence({ kind, name }: Entity): string {
  return kind === 'country' ? `the ${name}` : name;
}

function pairUp(people: readonly Entity[], random: Random): ReadonlyMap<Entity | null, Entity> {
  const pairs = new Map<Entity | null, Entity>();
  const order = random.shuffle(people);
  for (let i = 0; i + 1 < order.length; i += 2) {
    const [one, other] = [order[i] as Entity, order[i + 1] as Entity]; // both positions exist by the loop's condition
    pairs.set(one, other).set(other, one);
  }
  return pairs;
}

function capitalise(sentence: string): string {
  return sentence.slice(0, 1).toUpperCase() + sentence.slice(1);
}
