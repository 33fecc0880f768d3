import { z } from 'zod';
import type { Sampling } from '../../domain/prompts/policy-prompt.ts';
import { wellFormed } from '../../events/well-formed.ts';
import type { PromptMessagePart, SentPrompt } from '../shown-prompt.ts';

/** Of the distribution of a model, besides the temperature, which is that of the request: what replies are drawn from. */
export const samplingOptions = z.strictObject({
  topP: z.number().gt(0).max(1).optional(),
  topK: z.int().min(1).optional(),
  minP: z.number().min(0).max(1).optional(),
  repetitionPenalty: z.number().gt(0).optional(),
});
export type SamplingOptions = z.output<typeof samplingOptions>;

/** Leaves the distribution of a model as it is. vLLM and SGLang would take the values of its `generation_config` otherwise. */
const WHOLE = { topP: 1, topK: -1, minP: 0, repetitionPenalty: 1 };

/**
 * How a server is written to. `openai`: by the fields of OpenAI alone. `engine`: with those of vLLM, SGLang and our own servers.
 * `transformers`: `transformers serve` takes a generation config as JSON in place of fields.
 */
export type Dialect = 'openai' | 'engine' | 'transformers';

/** The parameters that decide from which distribution the tokens of a reply are drawn; null: left to the server. */
export type Drawing = Pick<Sampling, 'topP' | 'topK' | 'minP' | 'repetitionPenalty'> & { readonly temperature: number };

/** Completes options to what a request asks for: the whole distribution where the server has fields to say so. */
export function drawingOf(temperature: number, options: SamplingOptions = {}, dialect: Dialect): Drawing {
  const usual = dialect === 'openai' ? { topP: null, topK: null, minP: null, repetitionPenalty: null } : WHOLE;
  return {
    temperature,
    topP: options.topP ?? usual.topP,
    topK: options.topK ?? usual.topK,
    minP: options.minP ?? usual.minP,
    repetitionPenalty: options.repetitionPenalty ?? usual.repetitionPenalty,
  };
}

/** Writes the parameters as fields of a request. */
export function drawingFields(drawing: Drawing, dialect: Dialect): Readonly<Record<string, number | string>> {
  const { temperature, topP, topK, minP, repetitionPenalty } = drawing;
  if (dialect === 'transformers') {
    const kept =
      temperature > 0 ? { do_sample: true, top_p: topP, top_k: topK === -1 ? 0 : topK, min_p: minP } : { do_sample: false };
    return { temperature, generation_config: JSON.stringify({ ...kept, repetition_penalty: repetitionPenalty }) };
  }
  const fields = { temperature, top_p: topP, top_k: topK, min_p: minP, repetition_penalty: repetitionPenalty };
  return Object.fromEntries(Object.entries(fields).filter((field): field is [string, number] => field[1] !== null));
}

/** One message as chat servers take it that read images: text alone as a string, else parts, pictures as data URLs. */
export interface MultimodalMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string | readonly object[];
}

/**
 * Turns a prescribed prompt into messages of the chat-completions protocol. Pictures travel inside as PNG: the server needs no
 * way back to us.
 */
export async function shownMessages({ messages }: SentPrompt): Promise<readonly MultimodalMessage[]> {
  return Promise.all(
    messages.map(async ({ role, parts }) => {
      const only = parts.length === 1 ? parts[0] : undefined;
      if (only?.kind === 'text') return { role, content: wellFormed(only.text).value };
      return { role, content: await Promise.all(parts.map(contentOf)) };
    }),
  );
}

async function contentOf(part: PromptMessagePart): Promise<object> {
  if (part.kind === 'text') return { type: 'text', text: wellFormed(part.text).value };
  return imagePart(await part.png());
}

/** Writes a picture as a part of a message. */
export function imagePart(png: Uint8Array): object {
  return { type: 'image_url', image_url: { url: `data:image/png;base64,${Buffer.from(png).toString('base64')}` } };
}
