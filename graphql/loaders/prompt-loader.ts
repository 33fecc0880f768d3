import DataLoader from 'dataloader';
import type { Db } from '../../src/postgres/database.ts';
import { forgottenPrompts } from '../../src/projections/forgetting/read-forgotten.ts';
import { keyOf, type OfTree } from '../../src/projections/of-tree.ts';
import { PromptUnreadable } from '../../src/projections/prompts/prompt-unreadable.ts';
import { countPromptMessages, type RecordedPrompt, readPrompts } from '../../src/projections/prompts/read-prompts.ts';
import { refusal } from '../errors.ts';
import type { LargeTexts } from '../large-text.ts';

const REQUEST_LIMIT = 100_000; // messages: each prompt of a path repeats those before, so that n steps have n² of them

/**
 * Loads the prompts of steps; all steps of one tick together. @throws LIMIT_EXCEEDED when a request asks for more messages than
 * the limit; FORGOTTEN for a prompt of a tree with forgotten payload; PROMPT_UNREADABLE when the record does not come to what
 * was sent. @param keys where the keys of streams lie.
 */
export function createPromptLoader(db: Db, texts: LargeTexts, keys: Db): DataLoader<OfTree, RecordedPrompt | null, string> {
  let left = REQUEST_LIMIT;
  const load = async (asked: readonly OfTree[]) => {
    const forgotten = await forgottenPrompts(db, asked, keys); // texts that other trees show would pass for it
    const steps = asked.filter((step) => !forgotten.has(keyOf(step)));
    left -= await countPromptMessages(db, steps);
    if (left < 0)
      throw refusal(
        'LIMIT_EXCEEDED',
        `the prompts of this query have more than ${REQUEST_LIMIT} messages; ask for the prompts of fewer steps at once`,
      );
    const payloads = {
      text: async (reference: Parameters<LargeTexts['bytes']>[0]) => Buffer.from(await texts.bytes(reference)).toString('utf8'),
      bytes: (reference: Parameters<LargeTexts['bytes']>[0]) => texts.bytes(reference),
    };
    try {
      const prompts = await readPrompts(db, steps, payloads);
      return asked.map((step) => (forgotten.has(keyOf(step)) ? gone(step.id) : (prompts.get(keyOf(step)) ?? null)));
    } catch (error) {
      if (error instanceof PromptUnreadable) throw refusal('PROMPT_UNREADABLE', error.message, { stepId: error.stepId });
      throw error;
    }
  };
  return new DataLoader(load, { cacheKeyFn: keyOf });
}

function gone(stepId: string): Error {
  return refusal('FORGOTTEN', `the prompt of ${stepId} is forgotten: the keys of its tree are destroyed`, { stepId });
}
