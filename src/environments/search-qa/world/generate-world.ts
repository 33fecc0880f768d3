import { createRandom, type Random } from '../../../domain/random/random.ts';
import { seedFrom } from '../../../domain/random/seed-from.ts';
import type { CorpusDocument } from '../../retrieval/retriever.ts';
import type { Question } from '../question.ts';
import { askQuestions } from './ask-questions.ts';
import { drawFacts, type Entity, type Fact } from './draw-facts.ts';
import { createNamer } from './name-entities.ts';
import type { EntityKind } from './relations.ts';
import { splitRealms } from './split-realms.ts';

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
