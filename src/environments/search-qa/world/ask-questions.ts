import type { Random } from '../../../domain/random/random.ts';
import type { Question } from '../question.ts';
import { type Entity, type Fact, inSentence } from './draw-facts.ts';
import { RELATIONS } from './relations.ts';

const HOPS = [1, 2, 3] as const; // three searches and the answer are the four turns of the published environment
const QUESTIONS = 12; // for each number of hops, in each realm
const OTHER_WORDS = 1; // relation words that a search may use and no hop needs

/**
 * Asks about chains of facts of one realm, none of which meets an entity twice. Aliases are the questions' own: the first entity
 * and the relations.
 */
export function askQuestions(
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
