import type { FastifyRequest } from 'fastify';
import type { Endpoint } from './endpoint.ts';
import { readBody } from './ingest/read-body.ts';
import type { Reply } from './reply.ts';

/**
 * Answers a request by an endpoint, its body read by the endpoint's rule. A request takes its place in the gate when its body is
 * here: a client that sends slowly would hold the place of one that could be served. Undefined when the client went away
 * meanwhile.
 */
export async function answerEndpoint({ body: rule, handle }: Endpoint, request: FastifyRequest): Promise<Reply | undefined> {
  const { raw: req, params, query, principal } = request;
  if (!rule) return handle({ req, params, query, body: undefined, principal });
  const refused = rule.refuse?.(req.headers);
  if (refused) return refused;
  const share = rule.budget.open();
  try {
    const read = await readBody(req, rule.limit, share);
    if (read.kind !== 'body') return read.kind === 'gone' ? undefined : read.reply;
    const ticket = rule.gate.enter();
    if (!ticket) return rule.full;
    try {
      const parsed = rule.parse(read.bytes, req.headers);
      if (parsed.kind === 'refused') return parsed.reply;
      if (rule.counts === 'until-parsed') share.close();
      return await handle({ req, params, query, body: parsed.value, principal });
    } finally {
      ticket.leave();
    }
  } finally {
    share.close();
  }
}
