import { z } from 'zod';
import type { ChatMessage } from '../../domain/history/prompt.ts';
import { trimAsPublished } from '../../domain/search/trim-as-published.ts';
import { judgeEqual, type VectorCheck } from '../vector-check.ts';

const texts = z.array(z.string());
const shape = z.object({ messageLimit: z.int(), prompts: z.array(texts), storedStateOfDeepestNode: texts });

/**
 * Judges `10_context_truncation`: the prompts that were sent on the way down, where a token is a message and the system text is
 * none.
 */
export const contextTruncationCheck: VectorCheck = {
  fileName: /^10_context_truncation.*\.json$/,
  *judge({ json }) {
    const { messageLimit, prompts, storedStateOfDeepestNode: stored } = shape.parse(json);
    const whole = stored.map(
      (content, i): ChatMessage => ({ role: i === 0 ? 'system' : i % 2 === 1 ? 'user' : 'assistant', content }),
    );
    for (const [depth, expected] of prompts.entries()) {
      const trimmed = trimAsPublished(whole.slice(0, 4 + 2 * depth), messageLimit, (messages) => messages.length - 1);
      const actual = trimmed.kind === 'fits' ? trimmed.messages.map(({ content }) => content) : trimmed;
      yield judgeEqual(`prompt at depth ${depth}`, actual, expected);
    }
  },
};
