import type { KafkaConfig, OauthbearerProviderResponse, SASLOptions } from 'kafkajs';
import { z } from 'zod';
import type { KafkaSecurity, Login } from '../runtime/kafka-security.ts';

/** Returns the options of kafkajs for it. */
export function clientSecurity(security: KafkaSecurity | undefined): Pick<KafkaConfig, 'ssl' | 'sasl'> {
  if (!security) return {};
  const { tls, login } = security;
  return {
    ...(tls && { ssl: { ...(tls.ca !== null && { ca: tls.ca }), ...tls.client } }),
    ...(login && { sasl: saslOf(login) }),
  };
}

function saslOf(login: Login): NonNullable<KafkaConfig['sasl']> {
  if (login.mechanism !== 'oauthbearer') return { ...login } as SASLOptions; // kafkajs adds to it; a union of one object for each mechanism there
  return { mechanism: 'oauthbearer', oauthBearerProvider: createTokenProvider(login) };
}

const TOKEN_MS = 10_000; // for the server of tokens to answer
const KEPT = 0.8; // of the time that a token holds
const KEPT_SECONDS = 60; // where the server does not say how long it holds

const tokenAnswer = z.object({ access_token: z.string().min(1), expires_in: z.number().positive().default(KEPT_SECONDS) });

const REFUSALS = [400, 401, 403];

/** A token that was not given. kafkajs tries again by `retriable`, and takes an error without it for final. */
class TokenError extends Error {
  override readonly name = 'TokenError';
  readonly retriable: boolean;
  constructor(message: string, { retriable }: { readonly retriable: boolean }) {
    super(message); // without a cause: the innermost error is what `retriable` is read of
    this.retriable = retriable;
  }
}

type TokenLogin = Extract<Login, { mechanism: 'oauthbearer' }>;

/** Returns what gives a token to each new connection: the same one until most of its time is over. */
export function createTokenProvider(
  login: TokenLogin,
  clock: () => number = Date.now,
): () => Promise<OauthbearerProviderResponse> {
  let kept: { readonly value: string; readonly until: number } | undefined;
  return async () => {
    if (kept && clock() < kept.until) return kept;
    const answer = await requestToken(login).catch((error: unknown) => {
      if (error instanceof TokenError) throw error;
      const { message, cause } = error instanceof Error ? error : new Error(String(error));
      const why = cause instanceof Error ? `${message} (${cause.message})` : message;
      throw new TokenError(`${login.tokenUrl} gave no token: ${why}`, { retriable: true });
    });
    kept = { value: answer.access_token, until: clock() + answer.expires_in * 1_000 * KEPT };
    return kept;
  };
}

async function requestToken({ tokenUrl, clientId, clientSecret, scope }: TokenLogin): Promise<z.infer<typeof tokenAnswer>> {
  const response = await fetch(tokenUrl, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`).toString('base64')}`,
    },
    body: new URLSearchParams({ grant_type: 'client_credentials', ...(scope !== null && { scope }) }),
    signal: AbortSignal.timeout(TOKEN_MS),
  });
  const text = await response.text();
  if (!response.ok)
    throw new TokenError(`${tokenUrl} answered ${response.status} to the request for a token: ${text.slice(0, 200)}`, {
      retriable: !REFUSALS.includes(response.status),
    });
  return tokenAnswer.parse(JSON.parse(text));
}
