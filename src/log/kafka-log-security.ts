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

/** Returns what gives a token to each new connection: the same one until most of its time is over. */
export function createTokenProvider(
  { tokenUrl, clientId, clientSecret, scope }: Extract<Login, { mechanism: 'oauthbearer' }>,
  clock: () => number = Date.now,
): () => Promise<OauthbearerProviderResponse> {
  let kept: { readonly value: string; readonly until: number } | undefined;
  return async () => {
    if (kept && clock() < kept.until) return kept;
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
      throw new Error(`${tokenUrl} answered ${response.status} to the request for a token: ${text.slice(0, 200)}`);
    const answer = tokenAnswer.parse(JSON.parse(text));
    kept = { value: answer.access_token, until: clock() + answer.expires_in * 1_000 * KEPT };
    return kept;
  };
}
