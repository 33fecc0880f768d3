import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A model server whose answers a test writes itself. */
export interface TestUpstream {
  /** Ends in /v1. */
  readonly url: string;
  /** Bodies and headers of all requests in the order in which they came. */
  readonly requests: readonly {
    readonly path: string;
    readonly headers: IncomingMessage['headers'];
    readonly body: Sent;
    readonly method: string;
    readonly text: string;
  }[];
  /** How many requests ended before their answer did. */
  readonly cut: () => number;
  close(): Promise<void>;
}
export type Sent = Readonly<Record<string, unknown>> & {
  readonly messages?: readonly { readonly role: string; readonly content?: unknown }[];
  readonly stream?: boolean;
};
export type Answer = (body: Sent, res: ServerResponse) => unknown;

/** Starts it on a free port of loopback. @param answer writes one answer; what it returns is sent as JSON. */
export async function startUpstream(answer: Answer): Promise<TestUpstream> {
  const requests: TestUpstream['requests'][number][] = [];
  let cut = 0;
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer); // without an encoding they are buffers
    const text = Buffer.concat(chunks).toString('utf8');
    const isJson = text !== '' && String(req.headers['content-type']).includes('json');
    const body = (isJson ? JSON.parse(text) : {}) as Sent; // the proxy sends JSON objects
    requests.push({ path: req.url ?? '', headers: req.headers, body, method: req.method ?? '', text });
    res.once('close', () => {
      if (!res.writableFinished) cut++;
    });
    const value = await answer(body, res);
    if (value === undefined) return;
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify(value));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, // it listens on a port
    requests,
    cut: () => cut,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A chat completion as vLLM writes it: its tokens are the bytes of the text. */
export function completion(content: string, request: Sent, more: Readonly<Record<string, unknown>> = {}): object {
  const ids = [...Buffer.from(content)];
  const prompt = [...Buffer.from(JSON.stringify(request.messages))];
  return {
    id: `chatcmpl-${content}`,
    object: 'chat.completion',
    created: 1,
    model: 'served',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content, ...more },
        finish_reason: 'tool_calls' in more ? 'tool_calls' : 'stop',
        logprobs:
          request.logprobs === true ? { content: ids.map((id) => ({ token: `token_id:${id}`, logprob: -id / 256 })) } : null,
        ...(request.return_token_ids === true ? { token_ids: ids } : {}),
      },
    ],
    ...(request.return_token_ids === true ? { prompt_token_ids: prompt } : {}),
    usage: { prompt_tokens: prompt.length, completion_tokens: ids.length, total_tokens: prompt.length + ids.length },
  };
}

/** Writes a chat completion as a stream of parts, a character each. */
export function streamed(content: string, request: Sent, res: ServerResponse, { ends = true } = {}): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  const part = (choice: object, more: object = {}) =>
    res.write(
      `data: ${JSON.stringify({ id: 'chatcmpl-s', object: 'chat.completion.chunk', model: 'served', choices: [choice], ...more })}\n\n`,
    );
  part({ index: 0, delta: { role: 'assistant' }, finish_reason: null }, { prompt_token_ids: [1, 2, 3] });
  for (const byte of Buffer.from(content))
    part({
      index: 0,
      delta: { content: String.fromCharCode(byte) },
      finish_reason: null,
      ...(request.logprobs === true ? { logprobs: { content: [{ token: `token_id:${byte}`, logprob: -byte / 256 }] } } : {}),
      ...(request.return_token_ids === true ? { token_ids: [byte] } : {}),
    });
  if (!ends) return;
  part({ index: 0, delta: {}, finish_reason: 'stop' });
  const asked = request.stream_options as { readonly include_usage?: boolean } | undefined; // as OpenAI names it
  if (asked?.include_usage) {
    const usage = { prompt_tokens: 3, completion_tokens: content.length, total_tokens: 3 + content.length };
    res.write(`data: ${JSON.stringify({ id: 'chatcmpl-s', choices: [], usage })}\n\n`);
  }
  res.end('data: [DONE]\n\n');
}
