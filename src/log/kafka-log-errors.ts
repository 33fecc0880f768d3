import { LogError, RecordTooLarge } from './event-log.ts';

/**
 * Returns whether the same request may succeed later: a broker that restarts, a leader that moves, a connection that broke.
 * kafkajs marks a failed search for the coordinator of a group as final, whatever made it fail.
 */
export function isTransient(error: unknown): boolean {
  const root = rootOf(error);
  if (isWithoutCoordinator(root) || isBrokenLogin(root)) return true;
  return root.retriable === true || (root.retriable === undefined && root.name === 'AggregateError');
}

/** Returns whether the brokers say that a topic (or a partition of it) does not exist. */
export function isUnknownTopic(error: unknown): boolean {
  return rootOf(error).type === 'UNKNOWN_TOPIC_OR_PARTITION';
}

/** Returns whether the broker does not allow this client what it asked for. */
export function isForbidden(error: unknown): boolean {
  return rootOf(error).type?.endsWith('_AUTHORIZATION_FAILED') === true;
}

/** Returns whether the brokers, or this client of them, do not accept something that somebody may set right meanwhile. */
export function isRefused(error: unknown): boolean {
  return refusalOf(rootOf(error)) !== undefined;
}

/**
 * Returns whether the coordinator of a group was not found, which may have any reason: kafkajs drops what the brokers said, and writes
 * it into its debug log only.
 */
export function isWithoutCoordinator(error: unknown): boolean {
  return rootOf(error).name === 'KafkaJSGroupCoordinatorNotFound';
}

/** Returns whether the broker that was asked does not lead the partition, or nobody does yet. */
export function isLeaderless(error: unknown): boolean {
  return ['NOT_LEADER_FOR_PARTITION', 'LEADER_NOT_AVAILABLE', 'REPLICA_NOT_AVAILABLE'].includes(rootOf(error).type ?? '');
}

/** Returns whether a send certainly wrote nothing: the broker that was asked does not lead the partition, or nobody was asked yet. */
export function isUnsent(error: unknown): boolean {
  return isLeaderless(error) || isUnknownTopic(error) || rootOf(error).name === 'KafkaJSMetadataNotLoaded';
}

/** Returns whether kafkajs lost the answer to a request for offsets to another one that it made at the same time (#461). */
export function isLostAnswer(error: unknown): boolean {
  return /^Cannot destructure property 'partitions' of '\w+\.pop\(\.\.\.\)'/.test(rootOf(error).message);
}

/**
 * Returns whether a consumer of kafkajs read of a topic that a rebalance has taken from it meanwhile: the assignments of a client share
 * the offsets of its group, and a new one removes the topics that it does not have.
 */
export function isPassedOver(error: unknown): boolean {
  return /^Cannot read properties of undefined \(reading '\d+'\)/.test(rootOf(error).message);
}

/** Makes an error of the client into one of the log. */
export function toLogError(error: unknown, brokers: readonly string[], doing: string): LogError {
  if (error instanceof LogError) return error;
  const root = rootOf(error);
  const say = (what: string) => `${doing}: ${what} (Kafka at ${brokers.join(', ')}): ${root.message}`;
  if (root.type === 'MESSAGE_TOO_LARGE' || root.type === 'RECORD_LIST_TOO_LARGE') {
    return new RecordTooLarge(say('the broker takes no record of this size; raise max.message.bytes of the topic'), {
      limit: null,
      cause: error,
    });
  }
  if (root.type === 'UNKNOWN_TOPIC_OR_PARTITION')
    return new LogError('unknown-topic', say('the topic does not exist'), { cause: error });
  const refusal = refusalOf(root);
  if (refusal !== undefined) return new LogError('refused', say(refusal), { retryable: true, cause: error }); // a password may be changed back, a certificate renewed
  if (isTransient(error))
    return new LogError('unreachable', say('the brokers cannot be reached'), { retryable: true, cause: error });
  return new LogError('fatal', say('the client gave up'), { cause: error });
}

/** Says what the brokers, or this client of them, do not accept; undefined for any other fault. */
function refusalOf({ name, type, code, message }: ClientError): string | undefined {
  if (/^(SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED|UNABLE_TO_(GET|VERIFY)|CERT_|ERR_TLS_CERT_ALTNAME)/.test(code ?? ''))
    return 'the certificate of the broker is not accepted: KAFKA_SSL_CA_FILE names the authority that signed it';
  if (isBrokenLogin({ name, message })) return undefined;
  if (
    name === 'KafkaJSSASLAuthenticationError' ||
    type?.includes('SASL') ||
    /answered 40[013] to the request for a token/.test(message)
  )
    return 'the login is not accepted: check KAFKA_SASL_MECHANISM, the user and the password';
  if (/^ERR_SSL_|EPROTO/.test(code ?? ''))
    return 'the broker does not speak TLS as this client does: check KAFKA_SECURITY_PROTOCOL and the client certificate';
  if (type?.endsWith('_AUTHORIZATION_FAILED'))
    return 'the rights of this user are missing: see the list of rights in the guide of clusters';
  return undefined;
}

/**
 * Returns whether a connection broke during a login: kafkajs makes that an error of authentication, of which only the message says
 * so. "Connection closed by the server" is not among them: so brokers before 1.0 refuse a login.
 */
function isBrokenLogin({ name, message }: Pick<ClientError, 'name' | 'message'>): boolean {
  return (
    name === 'KafkaJSSASLAuthenticationError' &&
    /: (Closed connection|Connection (error|timeout)|Not connected|Request .* timed out)/.test(message)
  );
}

interface ClientError {
  readonly name: string;
  readonly message: string;
  /** Kafka's name of the error, when a broker answered with one. */
  readonly type?: string;
  /** Node's name of the error of a connection. */
  readonly code?: string;
  readonly retriable?: boolean;
}

/**
 * kafkajs wraps an error once per layer that gave up on it; the innermost says what happened. Of several, such as those of the
 * topics of a request, the first does.
 */
function rootOf(error: unknown): ClientError {
  let root = error;
  for (let inner = innerOf(root); inner instanceof Error; inner = innerOf(root)) root = inner;
  if (!(root instanceof Error)) return { name: 'unknown', message: String(root) };
  return root as ClientError; // an Error has name and message; the rest is optional, and kafkajs assigns these types
}

function innerOf(error: unknown): unknown {
  if (!(error instanceof Error)) return undefined;
  const isOfSeveral = error.name === 'KafkaJSAggregateError' && 'errors' in error && Array.isArray(error.errors);
  return isOfSeveral ? (error.errors as readonly unknown[])[0] : error.cause; // Array.isArray leaves any[]
}
