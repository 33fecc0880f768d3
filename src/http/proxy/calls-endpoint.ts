import { z } from 'zod';
import { jsonLoss } from '../../events/json-loss.ts';
import { changeJsonText, jsonText, lossesOfText } from '../../events/json-text.ts';
import { amount, finite, id, policyRef, remark, sha256 } from '../../events/schemas/values.ts';
import { isObject, type Json } from '../../policies/openai/read-messages.ts';
import type { Capture } from '../../usecases/capture/open-capture.ts';
import { APIS } from '../../usecases/capture/read-request.ts';
import { openReceiveCalls, type RefusedLine, type SeenLine } from '../../usecases/capture/receive-calls.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { aheadOfClock } from '../ingest/check-events.ts';
import { refusals } from '../openapi.ts';
import { json } from '../reply.ts';
import type { JsonBodies } from './call-endpoint.ts';
import { closeBody } from './close-endpoints.ts';
import { endBody, rewardBody } from './judge-endpoints.ts';
import { replyTo } from './proxy-replies.ts';
import { placeParams } from './proxy-request.ts';

const LINES = 10_000; // of one request
const LAST_MS = 253_402_300_799_999; // of the year 9999

/** An object as it came: a copy would be written anew. Not `z.custom`, of which no JSON Schema can be made. */
const object = (z.unknown().refine(isObject, 'Invalid input: expected object') as z.ZodType<Json>).meta({ type: 'object' }); // as refined

const line = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('call'),
    id: id.describe('UUID of the call, drawn by the client: a call that is sent again changes nothing.'),
    ...placeParams.shape,
    api: z.enum([...APIS, 'embeddings']).describe('Protocol of the call.'),
    beganMs: finite.min(0).max(LAST_MS).describe('When it began, in milliseconds since 1970.'),
    firstMs: amount.min(0).nullable().describe('Time until the first part of the reply in milliseconds; null when none came.'),
    totalMs: amount.min(0).max(LAST_MS).describe('Time until the end of the call in milliseconds.'),
    overlaps: z.boolean().default(false).describe('Whether another call of the rollout was in flight when this one began.'),
    policy: policyRef.nullable().default(null).describe('Policy that answers; that of the run, else the model, when null.'),
    server: z.string().max(500).nullable().describe('Address of the model server, without secrets.'),
    requestHash: sha256.describe('SHA-256 of the body that was sent.'),
    attempts: z.int().min(1).max(100).default(1).describe('How often it was sent.'),
    request: object.describe('Body of the request, as the program sent it.'),
    outcome: z.enum(['answered', 'failed', 'cancelled']).describe('Whether the model answered.'),
    status: z.int().min(0).max(999).nullable().describe('HTTP status of the model server; null when there is none.'),
    message: remark.default('').describe('What went wrong; empty when nothing did.'),
    reply: z.unknown().optional().describe('Body of the answer; absent when there is none.'),
    parts: z.array(object).nullable().default(null).describe('Parts of a stream; null when the answer came whole.'),
    isDone: z.boolean().default(false).describe('Whether the stream ended with `[DONE]`.'),
  }),
  z.strictObject({ kind: z.literal('reward'), id, ...placeParams.shape, ...rewardBody.shape }),
  z.strictObject({ kind: z.literal('end'), id, ...placeParams.shape, ...endBody.omit({ reward: true }).shape }),
  z.strictObject({
    kind: z.literal('close'),
    id,
    run: placeParams.shape.run,
    task: placeParams.shape.task.nullable().default(null),
    ...closeBody.shape,
  }),
]);

const sent = z.strictObject({ lines: z.array(line).max(LINES).describe('What happened, in order.') });
type Sent = z.infer<typeof sent>;

const received = z.object({
  received: z.int().describe('Number of lines that are on record.'),
  refused: z
    .array(z.object({ id, message: z.string(), remedy: z.string() }))
    .describe('Lines that the record refuses, and why; they are not on record.'),
  lossy: z.int().describe('Number of calls of which a part could not be read; the attributes of each name what.'),
});

/** Makes the endpoint that takes the calls that a program recorded in its own process. */
export function callsEndpoint(capture: Capture, bodies: JsonBodies): Endpoint {
  const receive = openReceiveCalls(capture);
  return endpoint<unknown, unknown, Sent>({
    method: 'POST',
    path: '/v1/calls',
    needs: ['ingest'],
    summary: 'Takes calls of models that a program recorded itself, with rewards and ends, and records them as steps.',
    description: 'Lines of one rollout are taken in their order. A line that is sent again changes nothing.',
    body: bodies(sent, 'passed-on'),
    answers: {
      200: { description: 'The lines are on record, but for those refused.', content: { 'application/json': received } },
      ...refusals({
        400: 'The body is no JSON object, or a field does not fit.',
        413: 'The body is over its limit.',
        415: 'Another Content-Type or Content-Encoding.',
        429: 'Too many requests, or too many bytes of bodies: send again after Retry-After seconds.',
        503: 'The record cannot be appended to, or is too far behind: send it again.',
      }),
    },
    async handle({ body, principal }) {
      const { lines } = body;
      try {
        const unfit = [...ofTheFuture(lines, Date.now()), ...ofLossyNumbers(body)];
        const fit = lines.filter(({ id }) => unfit.every((line) => line.id !== id));
        const { refused: more, lossy } = await receive(fit.map(seen), principal);
        const refused = [...unfit, ...more];
        return json(200, { received: lines.length - refused.length, refused, lossy });
      } catch (error) {
        return replyTo(error);
      }
    },
  });
}

/** Returns the calls that end in the future: they would end every read as of a time before it. */
function ofTheFuture(lines: Sent['lines'], now: number): readonly RefusedLine[] {
  return lines.flatMap((line) => {
    if (line.kind !== 'call') return [];
    const ahead = aheadOfClock(line.beganMs + line.totalMs, now);
    return ahead ? [{ id: line.id, message: `the end of the call ${ahead.message}`, remedy: ahead.remedy ?? '' }] : [];
  });
}

/** Returns the rewards and ends of which a reader of JSON loses a part; calls are recorded with what they lose. */
function ofLossyNumbers(body: Sent): readonly RefusedLine[] {
  if (lossesOfText(body).length === 0) return [];
  let texts: string[] = [];
  changeJsonText(jsonText(body), (key, value) => {
    if (key !== 'lines') return undefined;
    texts = [];
    return changeJsonText(value, (_, each) => void texts.push(each));
  });
  return body.lines.flatMap(({ kind, id }, i) => {
    const text = texts[i] ?? '{}';
    const loss = kind === 'call' ? undefined : jsonLoss(text, JSON.parse(text));
    return loss ? [{ id, message: `${loss.path} ${loss.message}`, remedy: loss.remedy }] : [];
  });
}

function seen(line: Sent['lines'][number]): SeenLine {
  switch (line.kind) {
    case 'call': {
      const { run, task, rollout, ...call } = line;
      return { ...call, reply: call.reply ?? null, named: { run, task, rollout } };
    }
    case 'reward': {
      const { run, task, rollout, of, observation, ...given } = line;
      const step = of === 'step' ? { observation: observation ?? null } : null;
      return { ...given, step, named: { run, task, rollout } };
    }
    case 'end': {
      const { run, task, rollout, ...given } = line;
      return { ...given, named: { run, task, rollout } };
    }
    case 'close': {
      const { run, task, ...given } = line;
      return { ...given, named: { run, task } };
    }
    default:
      return line satisfies never;
  }
}
