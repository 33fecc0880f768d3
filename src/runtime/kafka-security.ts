/** How a client speaks to the brokers of a cluster: by TLS or in the clear, and as whom. Plain data: threads receive it too. */
export interface KafkaSecurity {
  /** Null for connections in the clear. */
  readonly tls: Tls | null;
  /** Null for a client without a login. */
  readonly login: Login | null;
}

/** PEM texts. */
export interface Tls {
  /** Null for the authorities that Node trusts. */
  readonly ca: string | null;
  /** The certificate of this client and its key, where the brokers ask for one. */
  readonly client: { readonly cert: string; readonly key: string } | null;
}

export type Login =
  | { readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'; readonly username: string; readonly password: string }
  /** A token of the OAuth 2 grant "client credentials" (RFC 6749, 4.4). */
  | {
      readonly mechanism: 'oauthbearer';
      readonly tokenUrl: string;
      readonly clientId: string;
      readonly clientSecret: string;
      readonly scope: string | null;
    };
