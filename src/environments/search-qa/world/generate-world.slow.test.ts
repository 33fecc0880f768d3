import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { normalizeAnswer } from '../../../domain/reward/exact-match.ts';
import { fingerprintCorpus, openLocalRetriever } from '../../retrieval/local-retriever.ts';
import { createLexicon } from '../list-candidates.ts';
import { generateWorld, type QuestionWorld, SHIPPED_WORLD } from './generate-world.ts';
import { RELATIONS } from './relations.ts';

const seeds = fc.integer({ min: 0, max: 2 ** 31 });
const worlds = fc.record({ seed: seeds, size: fc.integer({ min: 2, max: 6 }) });
const each = (check: (world: QuestionWorld) => void) =>
  fc.assert(
    fc.property(worlds, ({ seed, size }) => check(generateWorld(seed, size))),
    { numRuns: 8 },
  );

describe('generated worlds', () => {
  test('equal seeds generate equal worlds, and other seeds others', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        expect(generateWorld(seed, 2)).toEqual(generateWorld(seed, 2));
        expect(generateWorld(seed, 2).documents).not.toEqual(generateWorld(seed + 1, 2).documents);
      }),
      { numRuns: 5 },
    );
  });

  test('names differ after normalisation, and none contains a relation word', () => {
    each(({ entities }) => {
      expect(new Set(entities.map(normalizeAnswer)).size).toBe(entities.length);
      const words = new Set(entities.flatMap((name) => name.toLowerCase().split(' ')));
      expect(RELATIONS.filter(({ key }) => words.has(key))).toEqual([]);
    });
  });

  test('one document states each fact, and a relation leads from an entity to one other', () => {
    each(({ documents, entities }) => {
      const lexicon = createLexicon(entities);
      const starts = documents.map(({ contents }) => {
        const key = RELATIONS.find(({ key }) => contents.includes(` ${key} of `))?.key;
        const [subject] = lexicon.namesIn(contents.slice(contents.indexOf(` ${key} of `)));
        expect(lexicon.namesIn(contents)).toHaveLength(2);
        return `${subject} ${key}`;
      });
      expect(new Set(starts).size).toBe(documents.length);
    });
  });

  test('the hops of a question lead from the named entity to the answer', () => {
    each(({ documents, questions, entities }) => {
      const lexicon = createLexicon(entities);
      const texts = new Map(documents.map(({ id, contents }) => [id, contents]));
      for (const { text, hops, targets } of questions) {
        const end = (hops ?? []).reduce((entity, { query, documentId }) => {
          const names = lexicon.namesIn(texts.get(documentId) ?? '');
          expect(query.startsWith(`${entity} `)).toBe(true);
          expect(names).toContain(entity);
          return names.find((name) => name !== entity) ?? '';
        }, lexicon.namesIn(text)[0] ?? '');
        expect([end]).toEqual(targets);
        expect(lexicon.namesIn(text)).not.toContain(end);
      }
    });
  });

  test('the first three results contain the document of every hop', async () => {
    await fc.assert(
      fc.asyncProperty(worlds, async ({ seed, size }) => {
        const { documents, questions } = generateWorld(seed, size);
        const retriever = await openLocalRetriever(documents);
        const hops = questions.flatMap((question) => question.hops ?? []);
        const found = await retriever.search(
          hops.map(({ query }) => query),
          3,
        );
        expect(hops.filter(({ documentId }, i) => !found[i]?.some(({ id }) => id === documentId))).toEqual([]);
      }),
      { numRuns: 8 },
    );
  });

  test('the test split asks about entities and facts that no training question needs', () => {
    each(({ documents, questions, entities }) => {
      const lexicon = createLexicon(entities);
      const texts = new Map(documents.map(({ id, contents }) => [id, contents]));
      const of = (split: string) => questions.filter((question) => question.split === split);
      const facts = (split: string) => of(split).flatMap(({ hops }) => hops?.map(({ documentId }) => documentId) ?? []);
      const names = (split: string) => new Set(facts(split).flatMap((id) => lexicon.namesIn(texts.get(id) ?? '')));
      const [trained, tested] = [names('train'), names('test')];
      expect([...tested].filter((name) => trained.has(name))).toEqual([]);
      expect(of('test').length).toBeGreaterThan(0);
      expect(of('train').length + of('test').length).toBe(questions.length);
    });
  });

  test('questions of one, two and three hops are equally many, and aliases are distinct', () => {
    each(({ questions }) => {
      const counts = [1, 2, 3].map((hops) => questions.filter((question) => question.hops?.length === hops).length);
      expect(counts).toEqual(Array(3).fill(questions.length / 3));
      expect(new Set(questions.map(({ alias }) => alias)).size).toBe(questions.length);
    });
  });
});

test('the shipped world does not change', () => {
  const { documents, questions, entities } = generateWorld(SHIPPED_WORLD.seed, SHIPPED_WORLD.size);
  expect([documents.length, questions.length, entities.length]).toEqual([680, 360, 230]);
  expect(questions.filter(({ split }) => split === 'test')).toHaveLength(72);
  expect(questions.at(-1)?.text).toBe('Who is the owner of the employer of the owner of Bidrai Company?');
  expect(fingerprintCorpus(documents)).toBe('4029eb9be03ee1c9bb3d05f087bd7cc3f8e8b5a6d37bc3d4d9f6b027e0a9bed0');
});

test('a size too small for a world is refused', () => {
  for (const size of [0, 1, 501, 2.5, Number.NaN]) expect(() => generateWorld(1, size)).toThrow('from 2 to 500 realms');
});
