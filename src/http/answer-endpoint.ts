import type { FastifyRequest } from 'fastify';
import type { Endpoint } from './endpoint.ts';
import type { Reply } from './reply.ts';

/**
 * Answers a request by an endpoint, its body parsed by the endpoint's rule. A request takes its place in the gate when its body
 * is received: a client that sends slowly would hold the place of one that could be served. Undefined when the client went away
 * meanwhile.
 */
export async function answerEndpoint({ body: rule, handle }: Endpoint, request: FastifyRequest): Promise<Reply | undefined> {
  const { raw: req, params, query, principal } = request;
  if (!rule) return handle({ req, params, query, body: undefined, principal });
  const leave = rule.gate();
  if (!leave) return rule.full;
  try {
    const bytes = (request.body as Buffer | undefined) ?? Buffer.alloc(0); // as `receiveBodies` has it parsed
    const parsed = rule.parse(bytes, req.headers);
    if (parsed.kind === 'refused') return parsed.reply;
    return await handle({ req, params, query, body: parsed.value, principal });
  } finally {
    leave();
  }
}
