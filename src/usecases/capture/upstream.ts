import { withoutSlashes } from '../../domain/text/without-slashes.ts';
import { isHttpAddress, sendAddress } from '../../runtime/secret-address.ts';
import { SECRET_REMEDY, secretInUrl } from '../../runtime/secret-in-url.ts';
import type { Ask } from './extras.ts';

/** The model server that calls go to. */
export interface UpstreamOptions {
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
  /** Sends a request. Redirects are not followed: another address is not that of the installation. */
  send(path: string, body: string | null, signal: AbortSignal): Promise<UpstreamAnswer>;
  /** Replaces secrets by their names, in what it said or in the reason why it was not reached. */
  hide(text: string): string;
}

export interface UpstreamAnswer {
  readonly response: Response;
  readonly hide: (text: string) => string;
}

/** The address of the model server cannot be used. */
export class UpstreamRefused extends Error {
  override readonly name = 'UpstreamRefused';
}

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
    async send(path, body, signal) {
      const { url, headers, hide } = target(); // a secret that was replaced counts from the next request on
      url.pathname = `${withoutSlashes(url.pathname)}${path}`;
      const response = await fetch(url, {
        method: body === null ? 'GET' : 'POST',
        redirect: 'manual',
        signal,
        body,
        headers: { ...headers, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      });
      return { response, hide };
    },
  };
}

/** The key of an address comes before that of the environment, which other servers do not see then. */
function namesKey(url: string): boolean {
  return 'authorization' in sendAddress(new URL(url)).headers;
}
