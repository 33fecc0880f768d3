import { withoutSlashes } from '../../domain/text/without-slashes.ts';
import { changeJsonText, jsonText, setJsonMembers } from '../../events/json-text.ts';
import { isObject, type Json, list } from '../../policies/openai/read-messages.ts';
import { isHttpAddress, sendAddress } from '../../runtime/secret-address.ts';
import { SECRET_REMEDY, secretInUrl } from '../../runtime/secret-in-url.ts';
import { UpstreamFailed } from './capture-errors.ts';
import type { Api } from './read-request.ts';

/** The model server that calls go to. */
interface UpstreamOptions {
  /** Its address up to and without `/chat/completions`, which may name secrets. It is the installation's, never the request's. */
  readonly url: string;
  /** A key, or the name of one, for an address that names none. */
  readonly apiKey?: string | undefined;
  /** Without a byte of an answer; 300 s unless given. */
  readonly timeoutMs?: number | undefined;
}

export interface Upstream {
  /** Its address without secrets. */
  readonly shown: string;
  readonly timeoutMs: number;
  /** What it is asked for at first: OpenAI refuses fields that it does not know. */
  readonly ask: Ask;
  /**
   * Sends a request, POST of JSON unless `as` is given. Redirects are not followed: another address is not that of the
   * installation. @throws UpstreamFailed for a path that leads out of its address.
   */
  send(path: string, body: string | Uint8Array<ArrayBuffer> | null, signal: AbortSignal, as?: SentAs): Promise<UpstreamAnswer>;
  /** Replaces secrets by their names, in what it said or in the reason why it was not reached. */
  hide(text: string): string;
}

interface SentAs {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
}
interface UpstreamAnswer {
  readonly response: Response;
  readonly hide: (text: string) => string;
}

/** The address of the model server cannot be used. */
export class UpstreamRefused extends Error {
  override readonly name = 'UpstreamRefused';
}

const JSON_POST: SentAs = {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
};
const TIMEOUT_MS = 300_000; // `fetch` itself waits no longer for the next byte

/** @throws UpstreamRefused for an address that is none, or holds a secret; SecretUnusable for one that names a missing secret. */
export function openUpstream({ url: given, apiKey, timeoutMs = TIMEOUT_MS }: UpstreamOptions): Upstream {
  if (!isHttpAddress(given))
    throw new UpstreamRefused(
      `the upstream must be an http or https address such as http://127.0.0.1:8000/v1, not ${given.slice(0, 80)}`,
    );
  const part = secretInUrl(given);
  if (part !== null) throw new UpstreamRefused(`the address of the upstream holds ${part}: ${SECRET_REMEDY}`);
  const target = () => sendAddress(new URL(given), namesKey(given) ? undefined : apiKey);
  const { hostname } = target().url; // a secret that is missing is noticed now
  const { protocol, origin, pathname } = new URL(given);
  return {
    shown: `${protocol === 'secret:' ? protocol : origin}${withoutSlashes(pathname)}`,
    timeoutMs,
    ask: hostname === 'api.openai.com' ? 'none' : 'all',
    hide: (text) => target().hide(text),
    async send(path, body, signal, as = JSON_POST) {
      const { url, headers, hide } = target(); // a secret that was replaced counts from the next request on
      const base = withoutSlashes(url.pathname);
      const [below = '', ...search] = path.split('?');
      url.pathname = `${base}${below}`;
      // the parser of addresses has resolved `..` by now
      if (!url.pathname.startsWith(`${base}/`)) throw new UpstreamFailed('protocol', 'the path leads out of the model server');
      if (search.length > 0) url.search = search.join('?');
      const response = await fetch(url, {
        method: as.method,
        redirect: 'manual',
        signal,
        body,
        headers: { ...as.headers, ...headers },
      });
      return { response, hide };
    },
  };
}

/** The key of an address comes before that of the environment, which other servers do not see then. */
function namesKey(url: string): boolean {
  return 'authorization' in sendAddress(new URL(url)).headers;
}

/** What a model server is asked for besides what the program asks: tokens, their log-probabilities, and but for the last the usage of a stream. */
export const ASKS = ['all', 'log-probs', 'none', 'untouched'] as const;
export type Ask = (typeof ASKS)[number];

/** What was added to a request, and is taken out of its reply. */
export interface Added {
  readonly logProbs: boolean;
  readonly tokenIds: boolean;
  readonly usage: boolean;
}

/** Adds to the text of a request what the record needs for training. What the program asks for itself stays as it came. */
export function withExtras(api: Api, body: Json, ask: Ask): { readonly text: string; readonly added: Added } {
  const usage = api === 'chat.completions' && ask !== 'untouched' && body.stream === true && !includesUsage(body);
  const logProbs = api === 'chat.completions' && (ask === 'all' || ask === 'log-probs') && body.logprobs !== true;
  const tokenIds = api === 'chat.completions' && ask === 'all' && body.return_token_ids !== true;
  const options = isObject(body.stream_options) ? jsonText(body.stream_options) : '{}';
  return {
    added: { logProbs, tokenIds, usage },
    text: setJsonMembers(jsonText(body), {
      ...(logProbs ? { logprobs: 'true' } : {}),
      // who asks for log-probabilities reads the words of tokens in them
      ...(logProbs && ask === 'all' ? { return_tokens_as_token_ids: 'true' } : {}),
      ...(tokenIds ? { return_token_ids: 'true', return_meta_info: 'true' } : {}),
      ...(usage ? { stream_options: setJsonMembers(options, { include_usage: 'true' }) } : {}),
    }),
  };
}

export function hasExtras({ logProbs, tokenIds, usage }: Added): boolean {
  return logProbs || tokenIds || usage;
}

/** Takes out of the text of a reply, or of a part of a stream, what was added; null for a part that holds nothing else. */
export function withoutExtras(text: string, reply: Json, added: Added, form: 'whole' | 'part'): string | null {
  const dropsUsage = form === 'part' && added.usage;
  if (dropsUsage && list(reply.choices).length === 0 && isObject(reply.usage)) return null;
  const extra = ['token_ids', 'meta_info'];
  return changeJsonText(text, (field, value) => {
    if (field === 'prompt_token_ids' && added.tokenIds) return null;
    if (field === 'usage' && dropsUsage) return null;
    if (field !== 'choices') return undefined;
    return changeJsonText(value, (_, choice) =>
      changeJsonText(choice, (name) => {
        if (name === 'logprobs' && added.logProbs) return 'null';
        return extra.includes(name) && added.tokenIds ? null : undefined;
      }),
    );
  });
}

function includesUsage({ stream_options: options }: Json): boolean {
  return isObject(options) && options.include_usage === true;
}
