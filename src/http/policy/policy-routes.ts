import { randomInt } from 'node:crypto';
import { z } from 'zod';
import { cutText } from '../../domain/text/cut-text.ts';
import { newId } from '../../events/new-id.ts';
import { type Act, type Policy, PolicyError } from '../../policies/policy.ts';
import { type Endpoint, endpoint, type Parsed } from '../endpoint.ts';
import { createBodyBudget } from '../ingest/body-budget.ts';
import { createGate } from '../ingest/gate.ts';
import { refusals } from '../openapi.ts';
import { json, type Reply } from '../reply.ts';
import { whileConnected } from '../while-connected.ts';
import { type ChatRequest, chatRequest } from './chat-request.ts';
import { FAILURE, failure, modelsEndpoint, NEEDS } from './models-endpoint.ts';
import { readSituation } from './read-situation.ts';

const BODY_BYTES = 16 * 1_048_576;
const BODIES_BYTES = 64 * 1_048_576; // of all together
const IN_FLIGHT = 256; // requests

/**
 * Returns the endpoints of a policy that chooses among actions, in the form of OpenAI's server: `POST /v1/chat/completions` and
 * `GET /v1/models`. Its one token is the place of the action among the candidates; asked for, it is given with its exact
 * log-probability in every dialect (`token_ids`, `token_id:7`, `meta_info`). The model is named by the policy's id;
 * `system_fingerprint` says which version answered.
 */
export function policyRoutes(policy: Policy, clock: () => number): readonly Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/v1/chat/completions',
      needs: NEEDS,
      summary: 'Chooses among actions; the messages are the observations and what was done.',
      body: {
        content: { 'application/json': chatRequest },
        limit: BODY_BYTES,
        budget: createBodyBudget(BODIES_BYTES),
        counts: 'until-answered',
        gate: createGate(IN_FLIGHT),
        full: failure(429, 'rate_limit_exceeded', 'too many requests are in progress; try again'),
        parse: parseChat,
      },
      answers: {
        200: { description: 'The actions.', content: { 'application/json': completion } },
        400: { description: 'A field does not fit, or what can be done now is not said.', content: FAILURE },
        404: { description: 'Another model.', content: FAILURE },
        ...refusals({
          408: 'The body arrived too slowly while the request bodies take too much memory.',
          413: 'The body is over 16 MiB.',
          415: 'Another Content-Encoding.',
        }),
        429: { description: 'Too many requests: send again after Retry-After seconds.', content: FAILURE },
      },
      handle: ({ req, body }) => whileConnected(req, (signal) => complete(body, signal)),
    }),
    modelsEndpoint(policy, clock),
  ];

  async function complete(request: ChatRequest, signal: AbortSignal): Promise<Reply | undefined> {
    const { policyId } = policy.ref;
    if (request.model !== policyId)
      return failure(
        404,
        'model_not_found',
        `The model \`${cutText(request.model, 200)}\` does not exist; there is ${policyId}`,
        'model',
      );
    const chat = readSituation(request);
    if (chat.kind === 'refused') return failure(400, 'invalid_request_error', chat.reason);
    try {
      const acts = await policy.act(
        {
          ...{ ...chat.situation, history: chat.situation.history.map((step) => ({ ...step, response: '' })), instruction: '' },
          ...{ admissibleActions: chat.candidates, expertAction: async () => null },
          ...{ n: request.n ?? 1, seed: request.seed ?? randomInt(2 ** 31), temperature: request.temperature ?? 1 },
        },
        signal,
      );
      return json(200, completionOf(acts, request, policy, clock()));
    } catch (error) {
      if (signal.aborted) return undefined;
      if (error instanceof PolicyError) return failure(400, 'invalid_request_error', error.message);
      throw error;
    }
  }
}

function parseChat(bytes: Uint8Array): Parsed<ChatRequest> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return refused('We could not parse the JSON body of your request');
  }
  const parsed = chatRequest.safeParse(value);
  return parsed.success ? { kind: 'parsed', value: parsed.data } : refused(cutText(z.prettifyError(parsed.error), 2_000));
}

function refused(message: string): Parsed<never> {
  return { kind: 'refused', reply: failure(400, 'invalid_request_error', message) };
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
