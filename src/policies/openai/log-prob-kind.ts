import { z } from 'zod';
import { PolicyError } from '../policy.ts';

/**
 * Of which distribution the log-probabilities of a server are: the one that it draws from (`processed`), or the model's before the
 * temperature (`raw`), as vLLM returns them unless it is started otherwise. `unknown`: its answers do not tell.
 */
export type LogProbKind = 'processed' | 'raw' | 'unknown';

const LEAST_GAP = 0.05; // nats between two tokens: below it rounding decides

/**
 * Measures of which distribution the log-probabilities of a server are: at temperature 2 the gap between two tokens is half of
 * that at temperature 1 where they are of what is drawn from, and the same where they are not.
 * @param post sends a chat-completions request and returns the answer, as JSON; anything else where the server refused it.
 */
export async function measureLogProbs(post: (body: object) => Promise<unknown>, model: string): Promise<LogProbKind> {
  const [one, two] = [await likeliest(post, model, 1), await likeliest(post, model, 2)];
  const common = [...one].filter(([token]) => two.has(token)).sort(([, a], [, b]) => b - a);
  const [first, last] = [common[0], common.at(-1)];
  if (!first || !last || first[1] - last[1] < LEAST_GAP) return 'unknown';
  const [atFirst = Number.NaN, atLast = Number.NaN] = [two.get(first[0]), two.get(last[0])];
  return (atFirst - atLast) / (first[1] - last[1]) > 0.75 ? 'raw' : 'processed';
}

/** Returns the refusal to train on log-probabilities that may not be those of what is drawn; null at temperature 1, where they are. */
export function refuseLogProbs(of: {
  readonly kind: LogProbKind;
  readonly baseUrl: string;
  readonly temperature: number;
  readonly remedy: string;
}): PolicyError | null {
  const { kind, baseUrl, temperature, remedy } = of;
  if (kind === 'processed' || temperature === 1 || temperature === 0) return null;
  const what =
    kind === 'raw'
      ? 'returns log-probabilities from before the temperature'
      : 'does not show whether its log-probabilities are of what it draws from (it returns no likeliest tokens)';
  return new PolicyError(
    'refused',
    `the model server at ${baseUrl} ${what}, and is asked at temperature ${temperature}; ${remedy}`,
  );
}

/** Reads the likeliest tokens that may follow a prompt with their log-probabilities; none where the server returns none. */
async function likeliest(post: (body: object) => Promise<unknown>, model: string, temperature: number) {
  const drawing = { temperature, top_p: 1, top_k: -1, min_p: 0, repetition_penalty: 1, seed: 0 };
  const asked = { model, messages: [{ role: 'user', content: 'One word.' }], max_tokens: 1, logprobs: true, top_logprobs: 5 };
  const [choice] = answered.safeParse(await post({ ...asked, ...drawing })).data?.choices ?? [];
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
