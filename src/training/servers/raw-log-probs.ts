import { z } from 'zod';
import type { Engine } from './engine-http.ts';

const LEAST_GAP = 0.05; // nats between two tokens: below it rounding decides

/**
 * Measures whether a server returns log-probabilities from before the temperature, as vLLM does unless it is started otherwise:
 * at temperature 2 the gap between two tokens is half of that at temperature 1 where they are of what is drawn from, and the same
 * where they are not. False where the server does not tell, such as one that returns no likeliest tokens.
 */
export async function hasRawLogProbs(engine: Engine, model: string, signal: AbortSignal): Promise<boolean> {
  const [one, two] = [await likeliest(engine, model, 1, signal), await likeliest(engine, model, 2, signal)];
  const common = [...one].filter(([token]) => two.has(token)).sort(([, a], [, b]) => b - a);
  const [first, last] = [common[0], common.at(-1)];
  if (!first || !last || first[1] - last[1] < LEAST_GAP) return false;
  const [atFirst, atLast] = [two.get(first[0]), two.get(last[0])];
  return atFirst !== undefined && atLast !== undefined && (atFirst - atLast) / (first[1] - last[1]) > 0.75;
}

/** Reads the likeliest tokens that may follow a prompt with their log-probabilities; none where the server returns none. */
async function likeliest(
  engine: Engine,
  model: string,
  temperature: number,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const drawing = { temperature, top_p: 1, top_k: -1, min_p: 0, repetition_penalty: 1, seed: 0 };
  const asked = { model, messages: [{ role: 'user', content: 'One word.' }], max_tokens: 1, logprobs: true, top_logprobs: 5 };
  const { json } = await engine.ask('/v1/chat/completions', signal, { ...asked, ...drawing });
  const [choice] = answered.safeParse(json).data?.choices ?? [];
  return new Map(choice?.logprobs?.content[0]?.top_logprobs.map(({ token, logprob }) => [token, logprob]));
}

const answered = z.object({
  choices: z.array(
    z.object({
      logprobs: z
        .object({
          content: z.array(z.object({ top_logprobs: z.array(z.object({ token: z.string(), logprob: z.number() })) })),
        })
        .nullish(),
    }),
  ),
});
