/** What an entity of the invented world is. */
export type EntityKind = 'academy' | 'company' | 'country' | 'mountain' | 'person' | 'river' | 'scholar' | 'town';

/**
 * A relation that leads from an entity of one kind to exactly one other. `key` is the word that occurs in its documents, in
 * questions about it and in searches for it, and in those of no other relation: it is what a search must get right.
 */
export interface Relation {
  readonly key: string;
  readonly from: EntityKind;
  readonly to: EntityKind;
  /** Writes the document that states the fact. */
  readonly phrase: (subject: string, object: string) => string;
  /** Writes a phrase that means the object, in place of its name. */
  readonly describe: (subject: string) => string;
}

/** The relations of the world. A change of any text here makes another world: raise `WORLD_REVISION` with it. */
export const RELATIONS: readonly Relation[] = [
  relation('capital', 'country', 'town', (s, o) => `${o} is the capital of ${s}.`),
  relation('ruler', 'country', 'person', (s, o) => `The ruler of ${s} is ${o}.`),
  relation('realm', 'town', 'country', (s, o) => `The realm of ${s} is ${o}.`),
  relation('mayor', 'town', 'person', (s, o) => `${o} is the mayor of ${s}.`),
  relation('waterway', 'town', 'river', (s, o) => `The waterway of ${s} is ${o}.`),
  relation('birthplace', 'person', 'town', (s, o) => `The birthplace of ${s} is ${o}.`),
  relation('teacher', 'person', 'scholar', (s, o) => `${o} was the teacher of ${s}.`),
  relation('spouse', 'person', 'person', (s, o) => `The spouse of ${s} is ${o}.`),
  relation('college', 'person', 'academy', (s, o) => `The college of ${s} was ${o}.`),
  relation('employer', 'person', 'company', (s, o) => `${o} is the employer of ${s}.`),
  relation('residence', 'scholar', 'town', (s, o) => `The residence of ${s} is in ${o}.`),
  relation('founder', 'academy', 'scholar', (s, o) => `${o} was the founder of ${s}.`),
  relation('campus', 'academy', 'town', (s, o) => `The campus of ${s} is in ${o}.`),
  relation('owner', 'company', 'person', (s, o) => `The owner of ${s} is ${o}.`),
  relation('headquarters', 'company', 'town', (s, o) => `${o} has the headquarters of ${s}.`),
  relation('source', 'river', 'mountain', (s, o) => `The source of ${s} is on ${o}.`),
  relation('climber', 'mountain', 'person', (s, o) => `${o} was the first climber of ${s}.`),
];

function relation(key: string, from: EntityKind, to: EntityKind, phrase: Relation['phrase']): Relation {
  return { key, from, to, phrase, describe: (subject) => `the ${key} of ${subject}` };
}
