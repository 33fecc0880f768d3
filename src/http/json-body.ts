import type { z } from 'zod';
import { cutText } from '../domain/text/cut-text.ts';
import { jsonLoss } from '../events/json-loss.ts';
import { keepJsonText, parseJsonText } from '../events/json-text.ts';
import type { BodyRule, Parsed } from './endpoint.ts';
import { createGate } from './ingest/gate.ts';
import { mediaOf } from './ingest/parse-body.ts';
import { busy, createBodyBudget } from './receive-bodies.ts';
import { refuse, wrongFields } from './reply.ts';

/** `passed-on`: `jsonText` writes the body and what is in it as they came; a part that a reader of JSON loses is not refused. */
type BodyUse = 'read' | 'passed-on';

/** Makes the rules of bodies of one JSON object, which share a budget and a gate. */
export function createJsonBodies(of: {
  /** Bytes of one body, and of all together. */
  readonly limit: number;
  readonly together: number;
  readonly requests: number;
  /** Describes why one request too many is refused. */
  readonly full: string;
}): <B>(schema: z.ZodType<B>, use?: BodyUse) => BodyRule<B> {
  const shared = { limit: of.limit, budget: createBodyBudget(of.together), gate: createGate(of.requests), full: busy(of.full) };
  return (schema, use = 'read') => ({
    ...shared,
    content: { 'application/json': schema },
    refuse: (headers) =>
      mediaOf(headers) === 'json'
        ? undefined
        : refuse(415, 'the body is not application/json in UTF-8', 'send a JSON object with that Content-Type'),
    parse: (bytes) => parse(bytes, schema, use),
  });
}

function parse<B>(bytes: Uint8Array, schema: z.ZodType<B>, use: BodyUse): Parsed<B> {
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    value = use === 'passed-on' ? parseJsonText(text) : JSON.parse(text);
  } catch (error) {
    // By its field: an error of the parser may come from another realm.
    const why = typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : 'not JSON';
    return { kind: 'refused', reply: refuse(400, `the body is no JSON: ${cutText(why, 200)}`, 'send one JSON object') };
  }
  const loss = use === 'passed-on' ? undefined : jsonLoss(text, value);
  if (loss) return { kind: 'refused', reply: refuse(422, `${loss.path} ${loss.message}`, loss.remedy) };
  const parsed = schema.safeParse(value);
  if (!parsed.success) return { kind: 'refused', reply: wrongFields(parsed.error) };
  if (use === 'passed-on') keepJsonText(parsed.data, text);
  return { kind: 'parsed', value: parsed.data };
}
