import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { CaptureRefused, NotRecorded, UpstreamFailed } from '../../usecases/capture/capture-errors.ts';
import type { Forwarded } from '../../usecases/capture/forward-call.ts';
import type { AnswerSchema } from '../endpoint.ts';
import { refusals } from '../openapi.ts';
import { type Reply, refuse } from '../reply.ts';
import { whileConnected } from '../while-connected.ts';

const STATUSES = { invalid: 400, forbidden: 403, unknown: 404, conflict: 409 } as const;
const UPSTREAM = { silent: 504, unreachable: 502, protocol: 502 } as const;

/** Returns the refusal that an error of a captured call means. @throws the error, where it is none of them. */
export function replyTo(error: unknown): Reply {
  if (error instanceof CaptureRefused) return refuse(STATUSES[error.kind], error.message, error.remedy);
  if (error instanceof NotRecorded && error.isForGood)
    return refuse(
      400,
      error.message,
      'ask for fewer or shorter replies; without `--when-unrecorded fail` such calls are answered without a record',
    );
  if (error instanceof NotRecorded)
    return refuse(503, error.message, 'send it again; without `--when-unrecorded fail` it is answered without a record', {
      headers: { 'retry-after': '1' },
    });
  if (error instanceof UpstreamFailed)
    return refuse(UPSTREAM[error.kind], error.message, 'see that the model server runs; GET …/models asks it for its models');
  throw error;
}

/**
 * Answers a request that a model server works on. How long a model may think is the limit of the proxy, not that of the connection.
 * @param over called when the answer is at its end, also that of a stream.
 */
export function passingOn(
  req: IncomingMessage,
  work: (signal: AbortSignal) => Promise<Forwarded>,
  over: () => void = () => undefined,
): Promise<Reply | undefined> {
  return whileConnected(req, async (signal) => {
    const idle = req.socket.timeout;
    req.socket.setTimeout(0);
    const restore = () => {
      over();
      req.socket.setTimeout(idle ?? 0);
    };
    try {
      const answer = await work(signal);
      if (answer.body instanceof Readable) answer.body.once('close', restore);
      else restore();
      return answer;
    } catch (error) {
      restore();
      return signal.aborted ? undefined : replyTo(error);
    }
  });
}

/** What the endpoints of calls answer. */
export const ANSWERS: Readonly<Record<number, AnswerSchema>> = {
  200: {
    description: 'As the model server answers: whole, or as a stream where the request asks for one.',
    content: {
      'application/json': z.looseObject({ model: z.string().optional() }),
      'text/event-stream': { type: 'string', description: 'Parts of the answer, as they come.' },
    },
    headers: { 'x-espalier-unrecorded': 'Why the call is not on record, where the proxy passes such calls on.' },
  },
  ...refusals({
    400: 'The request names no rollout or is no JSON object, no record takes its answer, or the model server refuses it, in its words.',
    403: 'The run belongs to another key or project.',
    409: 'The rollout, its task or its run has ended.',
    413: 'The body is over its limit.',
    415: 'Another Content-Encoding.',
    429: 'Too many requests, or too many bytes of bodies: send again after Retry-After seconds.',
    502: 'The model server was not reached, or answered what cannot be passed on.',
    503: 'The record cannot be appended to: nothing was asked, or what was answered is not on record.',
    504: 'The model server was silent for too long.',
  }),
};
