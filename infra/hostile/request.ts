import { Agent, request as send } from 'node:http';
import { LOCAL } from '../../src/testing/local-token.ts';
import { Broken, LIMIT_MS, type Outcome } from './target.ts';

export interface Answered {
  readonly status: number;
  readonly text: string;
  /** The body, where it is a JSON object. */
  readonly json: Readonly<Record<string, unknown>> | undefined;
}

interface Asked {
  readonly method: string;
  readonly body?: string | Buffer;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** In place of the path of `url`, and sent as it is. */
  readonly path?: string;
  /** Ends the connection when so much was read: of a stream that has no end. */
  readonly until?: (text: string) => boolean;
}

const kept = new Agent({ keepAlive: true, maxSockets: 64 });

/**
 * Sends one request and reads its answer; once more on a new connection where the server had closed the kept one in the
 * meantime, as HTTP allows it to. @throws Broken when no answer comes in time, or the connection breaks without one.
 */
export function request(url: string, asked: Asked, agent: Agent | false = kept): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const body = typeof asked.body === 'string' ? Buffer.from(asked.body) : (asked.body ?? Buffer.alloc(0));
    const headers = {
      ...(asked.type ? { 'content-type': asked.type } : {}),
      'content-length': body.length,
      ...LOCAL,
      ...asked.headers,
    };
    const fail = (why: string) => reject(new Broken(why));
    const path = asked.path === undefined ? {} : { path: asked.path };
    const req = send(url, { agent, method: asked.method, headers, timeout: LIMIT_MS, ...path }, (res) => {
      let text = '';
      const end = () => resolve({ status: res.statusCode ?? 0, text, json: objectOf(text) });
      res.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        if (res.statusCode !== 200 || asked.until?.(text) !== true) return; // a refusal has an end
        res.destroy();
        end();
      });
      res.once('end', end).once('error', (error) => fail(`the answer broke off: ${error.message}`));
    });
    req.once('timeout', () => req.destroy(new Error(`stuck: no answer after ${LIMIT_MS} ms`)));
    req.once('error', (error: NodeJS.ErrnoException) => {
      const closed = req.reusedSocket && error.code === 'ECONNRESET';
      if (closed) request(url, asked, false).then(resolve, reject);
      else fail(error.message);
    });
    req.end(body);
  });
}

/** Reads a text as a JSON object, where it is one. */
export function objectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    // an object, as just seen
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Judges an answer in the form of our targets: 2xx, or 4xx with code, message and remedy. @throws Broken otherwise. */
export function outcomeOf(answered: Answered): Outcome {
  const { status, json, text } = answered;
  if (status >= 200 && status < 400) return { kind: 'accepted', appended: Number(json?.appended ?? 0) };
  if (status < 400 || status >= 500) throw new Broken(`answered ${status}: ${text.slice(0, 300)}`);
  const error = json?.error as { code?: unknown; message?: unknown; remedy?: unknown } | undefined; // read by field, below
  const said = [error?.code, error?.message].every((part) => typeof part === 'string' && part !== '');
  if (!said) throw new Broken(`refused (${status}) without a reason: ${text.slice(0, 300)}`);
  if (text.length > ANSWER_LIMIT) throw new Broken(`a refusal of ${text.length} characters`);
  return { kind: 'refused', code: `${status} ${String(error?.code)}` };
}

const ANSWER_LIMIT = 100_000; // characters: what is refused is not sent back whole
