import { z } from 'zod';
import { defineEnvironment } from '../environment-entry.ts';
import { oneOf, text, whole } from '../option-kinds.ts';
import { oneSource, opening, openSource, sourceOptions } from '../retrieval/open-source.ts';
import { readQuestions } from './read-questions.ts';
import { MANNERS, MAX_TURNS, openSearchQa, TOP_K } from './search-qa.ts';
import { generateWorld, SHIPPED_WORLD } from './world/generate-world.ts';

/** Question answering by search, as in `search-qa:seed=7;size=20` or `search-qa:corpus=wiki;questions=dev.jsonl;topk=5`. */
export const searchQa = defineEnvironment({
  name: 'search-qa',
  summary: 'questions that are answered by search, of a generated world or your own',
  options: z
    .strictObject({
      ...sourceOptions,
      questions: text('FILE', 'questions, one JSON object per line; those of the generated world when left out').optional(),
      timeout: whole(1, 3_600, 'the limit for one request of a server, in seconds').default(60),
      topk: whole(1, 100, 'documents shown of a search').default(TOP_K),
      turns: whole(1, 100, 'turns for a question').default(MAX_TURNS),
      manner: oneOf(MANNERS, 'whose rules score: our own, or those of the original').default('sound'),
    })
    .refine(...oneSource)
    .refine(({ corpus, questions }) => corpus === undefined || questions !== undefined, 'a corpus needs questions=FILE')
    .refine(
      ({ corpus, retriever, questions }) => questions === undefined || (corpus ?? retriever) !== undefined,
      'questions need corpus=FOLDER or retriever=URL',
    )
    .refine(
      ({ questions, seed, size }) => questions === undefined || (seed ?? size) === undefined,
      'seed and size are for the generated world, which has questions of its own',
    ),
  open: ({ seed = SHIPPED_WORLD.seed, size = SHIPPED_WORLD.size, ...options }) =>
    opening('search-qa', async () => {
      const world = generateWorld(seed, size);
      const questions = options.questions === undefined ? world.questions : await readQuestions(options.questions);
      return openSearchQa({
        questions,
        retriever: await openSource(options, options.timeout, () => world.documents),
        manner: options.manner,
        topK: options.topk,
        maxTurns: options.turns,
        ...(options.questions === undefined ? { entities: world.entities } : {}),
      });
    }),
});
