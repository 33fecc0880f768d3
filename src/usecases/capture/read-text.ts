import { UpstreamFailed } from './capture-errors.ts';
import type { Silence } from './watch-silence.ts';

/** Reads a body as text, up to a limit. @throws UpstreamFailed. */
export async function readText({ body }: Response, limit: number, silence?: Silence): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for await (const chunk of body ?? []) {
    silence?.move();
    size += chunk.byteLength;
    if (size > limit) throw new UpstreamFailed('protocol', `the reply is longer than ${limit} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
