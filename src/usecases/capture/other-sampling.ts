import { cutText } from '../../domain/text/cut-text.ts';

/**
 * Fields of requests besides the recorded parameters that change what replies are drawn from, of OpenAI, vLLM, SGLang and
 * servers like them, with the values that change nothing; null changes nothing either.
 */
const CHANGES: Readonly<Record<string, readonly unknown[]>> = {
  presence_penalty: [0],
  frequency_penalty: [0],
  logit_bias: [{}],
  response_format: [{ type: 'text' }],
  tool_choice: ['auto', 'none'],
  guided_json: [],
  guided_regex: [],
  guided_choice: [],
  guided_grammar: [],
  structured_outputs: [],
  json_schema: [],
  regex: [],
  ebnf: [],
  grammar: [],
  structural_tag: [],
  allowed_token_ids: [],
  bad_words: [[]],
  logits_processors: [[]],
  custom_logit_processor: [],
  min_tokens: [0],
  min_new_tokens: [0],
  ignore_eos: [false],
  no_repeat_ngram_size: [0],
  typical_p: [1],
  top_a: [0],
  xtc_probability: [0],
  dry_multiplier: [0],
  mirostat: [0],
  use_beam_search: [false],
  generation_config: [],
};

const MOST_CHARACTERS = 10_000;

/** Lists the parameters of a request that change the distribution, by name, each as JSON. */
export function otherSampling(body: Readonly<Record<string, unknown>>): { readonly name: string; readonly value: string }[] {
  const { format } = (body.text ?? {}) as { readonly format?: unknown }; // of the responses protocol; any JSON value but null has fields
  const given = Object.entries({ ...body, ...(format === undefined ? {} : { response_format: format }) });
  return given.flatMap(([name, value]) => {
    const neutral = Object.hasOwn(CHANGES, name) ? CHANGES[name] : undefined;
    if (neutral === undefined || value === null || value === undefined) return [];
    const written = JSON.stringify(value);
    if (neutral.some((each) => JSON.stringify(each) === written)) return [];
    return [{ name, value: cutText(written, MOST_CHARACTERS) }];
  });
}
