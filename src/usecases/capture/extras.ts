import { type Api, isObject, type Json, list } from './read-request.ts';

/** What a model server is asked for besides what the program asks: tokens and their log-probabilities. */
export type Ask = 'all' | 'log-probs' | 'none';

/** What was added to a request, and is taken out of its reply. */
export interface Added {
  readonly logProbs: boolean;
  readonly tokenIds: boolean;
  readonly usage: boolean;
}

/** Adds to a request what the record needs for training. What the program asks for itself stays as it is. */
export function withExtras(api: Api, body: Json, ask: Ask): { readonly body: Json; readonly added: Added } {
  const usage = api === 'chat.completions' && body.stream === true && !includesUsage(body);
  const logProbs = api === 'chat.completions' && ask !== 'none' && body.logprobs !== true;
  const tokenIds = api === 'chat.completions' && ask === 'all' && body.return_token_ids !== true;
  return {
    added: { logProbs, tokenIds, usage },
    body: {
      ...body,
      ...(logProbs ? { logprobs: true } : {}),
      // who asks for log-probabilities reads the words of tokens in them
      ...(logProbs && ask === 'all' ? { return_tokens_as_token_ids: true } : {}),
      ...(tokenIds ? { return_token_ids: true, return_meta_info: true } : {}),
      ...(usage
        ? { stream_options: { ...(isObject(body.stream_options) ? body.stream_options : {}), include_usage: true } }
        : {}),
    },
  };
}

export function hasExtras({ logProbs, tokenIds, usage }: Added): boolean {
  return logProbs || tokenIds || usage;
}

/** Takes out of a reply, or out of a part of a stream, what was added; null for a part that holds nothing else. */
export function withoutExtras(reply: Json, added: Added, form: 'whole' | 'part'): Json | null {
  const { prompt_token_ids, usage, ...rest } = reply;
  const choices = list(reply.choices);
  if (form === 'part' && added.usage && choices.length === 0 && usage !== undefined) return null;
  return {
    ...rest,
    ...(prompt_token_ids === undefined || added.tokenIds ? {} : { prompt_token_ids }),
    ...(usage === undefined || (form === 'part' && added.usage) ? {} : { usage }),
    ...(reply.choices === undefined
      ? {}
      : { choices: choices.map((choice) => (isObject(choice) ? cleaned(choice, added) : choice)) }),
  };
}

function cleaned({ logprobs, token_ids, meta_info, ...choice }: Json, { logProbs, tokenIds }: Added): Json {
  return {
    ...choice,
    ...(logprobs === undefined ? {} : { logprobs: logProbs ? null : logprobs }),
    ...(token_ids === undefined || tokenIds ? {} : { token_ids }),
    ...(meta_info === undefined || tokenIds ? {} : { meta_info }),
  };
}

function includesUsage({ stream_options: options }: Json): boolean {
  return isObject(options) && options.include_usage === true;
}
