import { sha256Hex } from '../../../digest/sha256.ts';
import { createRandom, type Random } from '../../../domain/random/random.ts';
import { seedFrom } from '../../../domain/random/seed-from.ts';
import type { CorpusDocument } from '../../retrieval/retriever.ts';
import type { Question } from '../question.ts';
import { type EntityKind, RELATIONS, type Relation } from './relations.ts';

/** Raised when the same seed makes another world. */
export const WORLD_REVISION = 1;

/** An invented world: a corpus of one document for each fact, and questions that take one to three facts to answer. */
export interface QuestionWorld {
  readonly documents: readonly CorpusDocument[];
  readonly questions: readonly Question[];
  /** The names of all entities. */
  readonly entities: readonly string[];
}

/** The world that is played when nothing else is named: 680 documents, 288 questions to train on and 72 to test with. */
export const SHIPPED_WORLD = { seed: 1, size: 10 } as const;

/** Who and what is in one realm: 66 facts. */
const POPULATION: readonly (readonly [EntityKind, number])[] = [
  ['country', 1],
  ['town', 4],
  ['river', 2],
  ['mountain', 2],
  ['academy', 2],
  ['company', 2],
  ['scholar', 2],
  ['person', 8],
];

/**
 * Generates a world from a seed. It has `size` realms, and a fact joins entities of one realm; a fifth of the realms (by the hash
 * of their country) are asked about in the `test` split and the others in `train`, so no fact and no name that a test question is
 * about ever occurs on the way to an answer in training. A relation leads from an entity to exactly one other, so a question has
 * one answer. The documents are numbered in a drawn order.
 * @param size from 2 to 500 realms, each of 66 documents and 36 questions.
 */
export function generateWorld(seed: number, size: number): QuestionWorld {
  if (!Number.isInteger(size) || size < 2 || size > 500) throw new RangeError(`a world has from 2 to 500 realms, not ${size}`);
  const random = createRandom(seedFrom('search-qa-world', WORLD_REVISION, seed));
  const nameOf = createNamer(random.fork('names'));
  const realms = Array.from({ length: size }, () =>
    POPULATION.flatMap(([kind, count]) => Array.from({ length: count }, (): Entity => ({ kind, name: nameOf(kind) }))),
  );
  const splits = splitRealms(realms.map((entities) => entities[0]?.name ?? '')); // the country comes first
  const drawn = realms.map((entities, i) => drawFacts(entities, random.fork(`facts ${i}`)));
  const ids = numberFacts(drawn.flat(), random.fork('documents'));
  return {
    documents: [...ids].map(([fact, id]) => ({ id, contents: fact.text })),
    questions: drawn.flatMap((facts, i) =>
      askQuestions(facts, ids, { split: splits[i] ?? 'train', random: random.fork(`questions ${i}`) }),
    ),
    entities: realms.flat().map(({ name }) => name),
  };
}

function numberFacts(facts: readonly Fact[], random: Random): ReadonlyMap<Fact, string> {
  return new Map(random.shuffle(facts).map((fact, i) => [fact, `fact-${String(i + 1).padStart(5, '0')}`]));
}

const HOPS = [1, 2, 3] as const; // three searches and the answer are the four turns of the published environment
const QUESTIONS = 12; // for each number of hops, in each realm
const OTHER_WORDS = 1; // relation words that a search may use and no hop needs

/**
 * Asks about chains of facts of one realm, none of which meets an entity twice. Aliases are the questions' own: the first entity
 * and the relations.
 */
function askQuestions(
  facts: readonly Fact[],
  ids: ReadonlyMap<Fact, string>,
  { split, random }: { readonly split: string; readonly random: Random },
): Question[] {
  const from = (entity: Entity) => facts.filter(({ subject }) => subject === entity);
  let chains: (readonly Fact[])[] = facts.map((fact) => [fact]);
  return HOPS.flatMap((hops) => {
    if (hops > 1) chains = chains.flatMap((chain) => lengthen(chain, from));
    const chosen = random.fork(hops).shuffle(chains).slice(0, QUESTIONS);
    return chosen.map((chain) => question(chain, ids, split, random));
  });
}

function lengthen(chain: readonly Fact[], from: (entity: Entity) => readonly Fact[]): (readonly Fact[])[] {
  const last = chain.at(-1) as Fact; // a chain has at least one fact
  const met = new Set([chain[0]?.subject, ...chain.map(({ object }) => object)]);
  return from(last.object)
    .filter(({ object }) => !met.has(object))
    .map((next) => [...chain, next]);
}

function question(chain: readonly Fact[], ids: ReadonlyMap<Fact, string>, split: string, random: Random): Question {
  const [first, last] = [chain[0] as Fact, chain.at(-1) as Fact]; // a chain has at least one fact
  const described = chain.reduce((phrase, { relation }) => relation.describe(phrase), inSentence(first.subject));
  const keys = chain.map(({ relation }) => relation.key);
  const alias = [first.subject.name, ...keys].join(' ').toLowerCase().replaceAll(' ', '-');
  const others = random.fork(alias).shuffle(RELATIONS.map(({ key }) => key).filter((key) => !keys.includes(key)));
  const isPerson = last.object.kind === 'person' || last.object.kind === 'scholar';
  return {
    alias,
    text: `${isPerson ? 'Who' : 'What'} is ${described}?`,
    targets: [last.object.name],
    dataSource: 'espalier_search_world',
    split,
    // every fact is numbered
    hops: chain.map((fact) => ({ query: `${fact.subject.name} ${fact.relation.key}`, documentId: ids.get(fact) ?? '' })),
    // by name: their order must not show which comes first
    relationWords: [...new Set(keys), ...others.slice(0, OTHER_WORDS)].sort(),
  };
}

const ONSETS = ['b', 'br', 'd', 'dr', 'f', 'g', 'h', 'j', 'k', 'l', 'm', 'n', 'p', 'r', 's', 'st', 't', 'tr', 'v', 'z'];
const VOWELS = ['a', 'e', 'i', 'o', 'u', 'ai', 'ea'];
const CODAS = ['', 'l', 'm', 'n', 'nd', 'r', 'rk', 's', 'sk', 't', 'x'];
const GIVEN = [
  'Ada',
  'Bela',
  'Cato',
  'Dina',
  'Edo',
  'Fara',
  'Gil',
  'Hana',
  'Ivo',
  'Juna',
  'Kaj',
  'Lena',
  'Milo',
  'Nora',
  'Otto',
  'Pia',
];

/** Makes names that no other entity has: a new word in each, joined with what names the kind. */
function createNamer(random: Random): (kind: EntityKind) => string {
  const used = new Set([...GIVEN.map((name) => name.toLowerCase()), ...RELATIONS.map(({ key }) => key)]);
  const word = (): string => {
    for (;;) {
      const syllable = () => random.choice(ONSETS) + random.choice(VOWELS);
      const made = syllable() + syllable() + random.choice(CODAS);
      if (used.has(made)) continue;
      used.add(made);
      return made[0]?.toUpperCase() + made.slice(1); // never empty: two syllables
    }
  };
  return (kind) => {
    switch (kind) {
      case 'academy':
        return `${word()} Academy`;
      case 'company':
        return `${word()} Company`;
      case 'country':
        return `Kingdom of ${word()}`;
      case 'mountain':
        return `Mount ${word()}`;
      case 'person':
        return `${random.choice(GIVEN)} ${word()}`; // given names are shared, as in life: only the whole name identifies a person
      case 'river':
        return `River ${word()}`;
      case 'scholar':
        return `Doctor ${word()}`;
      case 'town':
        return `${random.choice(['Port', 'Fort'])} ${word()}`;
      default:
        return kind satisfies never;
    }
  };
}

/** Puts the fifth of the realms (at least one) whose country has the least hash into `test`, the others into `train`. */
function splitRealms(countries: readonly string[]): ('test' | 'train')[] {
  const hashes = countries.map((country) => sha256Hex(JSON.stringify(['search-qa-split', country])));
  const tested = new Set([...hashes].sort().slice(0, Math.max(1, Math.round(countries.length / 5))));
  return hashes.map((hash) => (tested.has(hash) ? 'test' : 'train'));
}

interface Entity {
  readonly kind: EntityKind;
  readonly name: string;
}

/** That `relation` leads from `subject` to `object`, and the sentence that states it. */
interface Fact {
  readonly relation: Relation;
  readonly subject: Entity;
  readonly object: Entity;
  readonly text: string;
}

/** Draws the facts of a realm: every relation for every entity that it leads from. Marriages are mutual. */
function drawFacts(entities: readonly Entity[], random: Random): Fact[] {
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
function inSentence({ kind, name }: Entity): string {
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
