import DataLoader from 'dataloader';
import type { Db } from '../../src/postgres/database.ts';
import { PromptUnreadable } from '../../src/projections/prompts/prompt-unreadable.ts';
import { countPromptMessages, type RecordedPrompt, readPrompts } from '../../src/projections/prompts/read-prompts.ts';
import { refusal } from '../errors.ts';
import type { LargeTexts } from '../large-text.ts';

const REQUEST_LIMIT = 100_000; // messages: each prompt of a path repeats those before, so that n steps have n² of them

/**
 * Loads the prompts of steps; all steps of one tick together. @throws LIMIT_EXCEEDED when a request asks for more messages than
 * the limit; PROMPT_UNREADABLE when the record does not come to what was sent.
 */
export function createPromptLoader(db: Db, texts: LargeTexts): DataLoader<string, RecordedPrompt | null> {
  let left = REQUEST_LIMIT;
  return new DataLoader(async (steps) => {
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
      return steps.map((step) => prompts.get(step) ?? null);
    } catch (error) {
      if (error instanceof PromptUnreadable) throw refusal('PROMPT_UNREADABLE', error.message, { stepId: error.stepId });
      throw error;
    }
  });
}
