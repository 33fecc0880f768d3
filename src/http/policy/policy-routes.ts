import { randomInt } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { cutText } from '../../domain/text/cut-text.ts';
import { newId } from '../../events/new-id.ts';
import { type Act, type Policy, PolicyError } from '../../policies/policy.ts';
import { createBodyBudget } from '../ingest/body-budget.ts';
import { createGate } from '../ingest/gate.ts';
import { readBody } from '../ingest/read-body.ts';
import { json, type Reply } from '../reply.ts';
import type { Route } from '../route.ts';
import { type ChatRequest, chatRequest } from './chat-request.ts';
import { readSituation } from './read-situation.ts';

const BODY_BYTES = 16 * 1_048_576;
const BODIES_BYTES = 64 * 1_048_576; // of all together
const IN_FLIGHT = 256; // requests
const NEEDS = 'any-key';

/**
 * Returns the endpoints of a policy that chooses among actions, in the form of OpenAI's server: `POST /v1/chat/completions` and
 * `GET /v1/models`. Its one token is the place of the action among the candidates; asked for, it is given with its exact
 * log-probability in every dialect (`token_ids`, `token_id:7`, `meta_info`). The model is named by the policy's id;
 * `system_fingerprint` says which version answered.
 */
export function policyRoutes(policy: Policy, clock: () => number): readonly Route[] {
  const gate = createGate(IN_FLIGHT);
  const budget = createBodyBudget(BODIES_BYTES);
  async function complete(req: IncomingMessage): Promise<Reply | undefined> {
    const gone = new AbortController();
    const onClose = () => gone.abort();
    req.socket.once('close', onClose); // one connection brings many requests
    const share = budget.open();
    try {
      const body = await readBody(req, BODY_BYTES, share);
      if (body.kind === 'gone') return undefined;
      if (body.kind === 'refused') return body.reply;
      const ticket = gate.enter();
      if (!ticket) return failure(429, 'rate_limit_exceeded', 'too many requests are in progress; try again');
      return await answer(body.bytes, gone.signal).finally(() => ticket.leave());
    } finally {
      req.socket.off('close', onClose);
      share.close();
    }
  }

  async function answer(bytes: Uint8Array, signal: AbortSignal): Promise<Reply | undefined> {
    const request = parseChat(bytes);
    if (typeof request === 'string') return failure(400, 'invalid_request_error', request);
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

  const models = async () =>
    json(200, {
      object: 'list',
      data: [
        {
          id: policy.ref.policyId,
          object: 'model',
          created: Math.floor(clock() / 1_000),
          owned_by: 'espalier',
          version: policy.ref.version,
        },
      ],
    });
  return [
    { kind: 'endpoint', method: 'POST', path: '/v1/chat/completions', needs: NEEDS, handle: complete },
    { kind: 'endpoint', method: 'GET', path: '/v1/models', needs: NEEDS, handle: models },
  ];
}

function parseChat(bytes: Uint8Array): ChatRequest | string {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return 'We could not parse the JSON body of your request';
  }
  const parsed = chatRequest.safeParse(value);
  return parsed.success ? parsed.data : cutText(z.prettifyError(parsed.error), 2_000);
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

/** An error as OpenAI's server writes it. */
function failure(status: number, code: string, message: string, param: string | null = null): Reply {
  const type = status === 429 ? 'requests' : 'invalid_request_error';
  return json(status, { error: { message, type, param, code } }, status === 429 ? { 'retry-after': '1' } : {});
}
