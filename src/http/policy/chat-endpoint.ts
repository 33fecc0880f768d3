import { z } from 'zod';
import { cutText } from '../../domain/text/cut-text.ts';
import type { Policy } from '../../policies/policy.ts';
import { type AnswerSchema, type Endpoint, endpoint, type Parsed } from '../endpoint.ts';
import { createGate } from '../ingest/gate.ts';
import { refusals } from '../openapi.ts';
import { createBodyBudget } from '../receive-bodies.ts';
import type { Reply } from '../reply.ts';
import { whileConnected } from '../while-connected.ts';
import { FAILURE, failure, NEEDS, type SeenBy } from './models-endpoint.ts';

const MIB = 1_048_576;
const BODIES = 4; // largest bodies in memory at once
const IN_FLIGHT = 256; // requests

export interface ChatOptions<Request> {
  readonly summary: string;
  readonly request: z.ZodType<Request>;
  /** Of one body, MiB. */
  readonly largest: number;
  readonly answered: AnswerSchema;
  /** What a 400 says. */
  readonly unfit: string;
  /** Answers a request that names the policy. */
  readonly complete: (request: Request, signal: AbortSignal) => Promise<Reply | undefined>;
  readonly seenBy: SeenBy;
}

/** Makes `POST /v1/chat/completions` of the one policy that a server has. */
export function chatEndpoint<Request extends { readonly model: string }>(
  policy: Policy,
  { summary, request, largest, answered, unfit, complete, seenBy }: ChatOptions<Request>,
): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/v1/chat/completions',
    needs: NEEDS,
    summary,
    body: {
      content: { 'application/json': request },
      limit: largest * MIB,
      budget: createBodyBudget(BODIES * largest * MIB),
      gate: createGate(IN_FLIGHT),
      full: failure(429, 'rate_limit_exceeded', 'too many requests are in progress; try again'),
      parse: (bytes) => parseChat(bytes, request),
    },
    answers: {
      200: answered,
      400: { description: unfit, content: FAILURE },
      404: { description: 'Another model.', content: FAILURE },
      ...refusals({
        413: `The body is over ${largest} MiB.`,
        415: 'Another Content-Encoding.',
      }),
      429: { description: 'Too many requests: send again after Retry-After seconds.', content: FAILURE },
    },
    handle: ({ req, body, principal }) =>
      whileConnected(req, async (signal) => {
        const { policyId } = policy.ref;
        if (!(await seenBy(principal))) return unknownModel(body.model);
        if (body.model !== policyId) return unknownModel(body.model, policyId);
        try {
          return await complete(body, signal);
        } catch (error) {
          if (signal.aborted) return undefined;
          throw error;
        }
      }),
  });
}

/** @param served the model that there is; left out for who does not see it. */
function unknownModel(asked: string, served?: string): Reply {
  const message = `The model \`${cutText(asked, 200)}\` does not exist${served === undefined ? '' : `; there is ${served}`}`;
  return failure(404, 'model_not_found', message, 'model');
}

function parseChat<Request>(bytes: Uint8Array, request: z.ZodType<Request>): Parsed<Request> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return refused('We could not parse the JSON body of your request');
  }
  const parsed = request.safeParse(value);
  return parsed.success ? { kind: 'parsed', value: parsed.data } : refused(cutText(z.prettifyError(parsed.error), 2_000));
}

function refused(message: string): Parsed<never> {
  return { kind: 'refused', reply: failure(400, 'invalid_request_error', message) };
}
