import { z } from 'zod';
import { readPublishedReply } from '../../domain/search/published-reply.ts';
import { judgeEqual, type VectorCheck } from '../vector-check.ts';

const shape = z.object({
  cases: z.array(
    z.object({
      task: z.string(),
      response: z.string(),
      action: z.string(),
      nodeLlmResponse: z.string(),
      conversationTurn: z.string(),
      envReceived: z.tuple([z.string()]),
    }),
  ),
});

/** Judges `08_action_parse`: what the published search executes, stores and shows of a reply. */
export const publishedReplyCheck: VectorCheck = {
  fileName: /^08_action_parse.*\.json$/,
  *judge({ json }) {
    for (const { task, response, ...expected } of shape.parse(json).cases) {
      const reply = readPublishedReply(response, task === 'webshop' ? 'webshop' : 'other');
      yield judgeEqual(
        `${task}: ${JSON.stringify(response)}`,
        { action: reply.action, nodeLlmResponse: reply.response, conversationTurn: reply.turn, envReceived: [reply.action] },
        expected,
      );
    }
  },
};
