import { cutText } from '../../domain/text/cut-text.ts';

type Json = Readonly<Record<string, unknown>>;

/**
 * Fields of requests besides the recorded parameters that change what replies are drawn from, of OpenAI, vLLM, SGLang and
 * servers like them, with the values that change nothing. Nothing is changed by null either, by an empty text or by an empty list.
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
  structured_outputs: [{}],
  json_schema: [],
  regex: [],
  ebnf: [],
  grammar: [],
  structural_tag: [],
  allowed_token_ids: [],
  bad_words: [],
  bad_words_ids: [],
  suppress_tokens: [],
  begin_suppress_tokens: [],
  sequence_bias: [{}],
  logits_processors: [],
  custom_logit_processor: [],
  min_tokens: [0],
  min_new_tokens: [0],
  min_length: [0],
  ignore_eos: [false],
  no_repeat_ngram_size: [0],
  encoder_repetition_penalty: [1],
  epsilon_cutoff: [0],
  exponential_decay_length_penalty: [],
  eta_cutoff: [0],
  guidance_scale: [1],
  penalty_alpha: [0],
  typical_p: [1],
  top_a: [0],
  xtc_probability: [0],
  dry_multiplier: [0],
  mirostat: [0],
  use_beam_search: [false],
  num_beams: [0, 1],
  generation_config: [],
};

const MOST_CHARACTERS = 10_000;

/**
 * Lists the parameters of a request that change the distribution, by name, each as JSON. A `generation_config` among them is one
 * that could not be read: `withGenerationConfig` takes the fields out of others.
 */
export function otherSampling(body: Json): { readonly name: string; readonly value: string }[] {
  const { format } = (body.text ?? {}) as { readonly format?: unknown }; // of the responses protocol; any JSON value but null has fields
  const given = Object.entries({ ...body, ...(format === undefined ? {} : { response_format: format }) });
  return given.flatMap(([name, value]) => {
    if (changesNothing(name, value, body)) return [];
    return [{ name, value: cutText(JSON.stringify(value), MOST_CHARACTERS) }];
  });
}

function changesNothing(name: string, value: unknown, { n }: Json): boolean {
  if (value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) return true;
  // of more replies than are returned the likeliest are chosen
  if (name === 'best_of') return typeof value === 'number' && value <= (typeof n === 'number' ? n : 1);
  const neutral = Object.hasOwn(CHANGES, name) ? CHANGES[name] : undefined;
  return neutral === undefined || neutral.some((each) => JSON.stringify(each) === JSON.stringify(value));
}

/**
 * Puts the fields of a `generation_config`, as `transformers serve` takes it, in its place: those of the request itself come
 * first. One that says not to sample is of temperature 0. What is no JSON object is left as it is.
 */
export function withGenerationConfig({ generation_config: config, ...asked }: Json): Json {
  if (config === undefined) return asked;
  const fields = typeof config === 'string' ? parse(config) : config;
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return { ...asked, generation_config: config };
  const own = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== null));
  return { ...fields, ...own, ...('do_sample' in fields && fields.do_sample === false ? { temperature: 0 } : {}) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
