import { randomInt } from 'node:crypto';
import { z } from 'zod';
import { newId } from '../../events/new-id.ts';
import { type Act, type Policy, PolicyError } from '../../policies/policy.ts';
import type { Endpoint } from '../endpoint.ts';
import { json, type Reply } from '../reply.ts';
import { chatEndpoint } from './chat-endpoint.ts';
import { type ChatRequest, chatRequest } from './chat-request.ts';
import { failure, modelsEndpoint, type SeenBy, seenByAll } from './models-endpoint.ts';
import { readSituation } from './read-situation.ts';

/**
 * Returns the endpoints of a policy that chooses among actions, in the form of OpenAI's server: `POST /v1/chat/completions` and
 * `GET /v1/models`. Its one token is the place of the action among the candidates; asked for, it is given with its exact
 * log-probability in every dialect (`token_ids`, `token_id:7`, `meta_info`). The model is named by the policy's id;
 * `system_fingerprint` says which version answered.
 */
export function policyRoutes(policy: Policy, clock: () => number, seenBy: SeenBy = seenByAll): readonly Endpoint[] {
  return [
    chatEndpoint(policy, {
      seenBy,
      summary: 'Chooses among actions; the messages are the observations and what was done.',
      request: chatRequest,
      largest: 16,
      answered: { description: 'The actions.', content: { 'application/json': completion } },
      unfit: 'A field does not fit, or what can be done now is not said.',
      complete,
    }),
    modelsEndpoint(policy, clock, seenBy),
  ];

  async function complete(request: ChatRequest, signal: AbortSignal): Promise<Reply> {
    const chat = readSituation(request);
    if (chat.kind === 'refused') return failure(400, 'invalid_request_error', chat.reason);
    try {
      const acts = await policy.act(
        {
          ...chat.situation,
          history: chat.situation.history.map((step) => ({ ...step, response: '' })),
          instruction: '',
          admissibleActions: chat.candidates,
          expertAction: async () => null,
          n: request.n ?? 1,
          seed: request.seed ?? randomInt(2 ** 31),
          temperature: request.temperature ?? 1,
        },
        signal,
      );
      return json(200, completionOf(acts, request, policy, clock()));
    } catch (error) {
      if (error instanceof PolicyError && !signal.aborted) return failure(400, 'invalid_request_error', error.message);
      throw error;
    }
  }
}

function completionOf(acts: readonly Act[], request: ChatRequest, policy: Policy, now: number): unknown {
  const tokenIds = request.return_token_ids === true;
  const asText = request.return_tokens_as_token_ids === true;
  return {
    id: `chatcmpl-${newId()}`,
    object: 'chat.completion',
    created: Math.floor(now / 1_000),
    model: policy.ref.policyId,
    system_fingerprint: `version-${(acts[0]?.policy ?? policy.ref).version}`,
    choices: acts.map(({ response, tokens }, index) => ({
      index,
      message: { role: 'assistant', content: response },
      finish_reason: 'stop',
      logprobs: request.logprobs
        ? {
            content: (tokens?.ids ?? []).map((id, i) => ({
              token: asText ? `token_id:${id}` : response,
              logprob: tokens?.logProbs?.[i] ?? 0,
              bytes: null,
              top_logprobs: [],
            })),
          }
        : null,
      ...(tokenIds && tokens ? { token_ids: tokens.ids } : {}),
      ...(request.return_meta_info && tokens?.logProbs
        ? { meta_info: { output_token_logprobs: tokens.ids.map((id, i) => [tokens.logProbs?.[i] ?? 0, id, null]) } }
        : {}),
    })),
    // A choice is one token; a prompt is no tokens to a policy that reads features of texts.
    usage: { prompt_tokens: 0, completion_tokens: acts.length, total_tokens: acts.length },
  };
}

const completion = z.object({
  id: z.string(),
  object: z.literal('chat.completion'),
  created: z.int().describe('Seconds since 1970.'),
  model: z.string(),
  system_fingerprint: z.string().describe('Which version answered, as `version-3`.'),
  choices: z.array(
    z.object({
      index: z.int(),
      message: z.object({ role: z.literal('assistant'), content: z.string() }),
      finish_reason: z.literal('stop'),
      logprobs: z
        .object({
          content: z.array(
            z.object({ token: z.string(), logprob: z.number(), bytes: z.null(), top_logprobs: z.array(z.never()).max(0) }),
          ),
        })
        .nullable(),
      token_ids: z
        .array(z.int())
        .optional()
        .describe('Places of the action among the candidates; where `return_token_ids` asks.'),
      meta_info: z
        .object({ output_token_logprobs: z.array(z.tuple([z.number(), z.int(), z.null()])) })
        .optional()
        .describe('Where `return_meta_info` asks.'),
    }),
  ),
  usage: z.object({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() }),
});
