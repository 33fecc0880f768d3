import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import type { Bucket } from './bucket.ts';
import { inheritable } from './child-environment.ts';
import type { KafkaSecurity, Login, Tls } from './kafka-security.ts';
import { faultOfAddress } from './postgres-address.ts';

/** Everything that an operator may set, read once at the start. This file is the only reader of `process.env`. */
export interface Config {
  /** Folder of the embedded database, blobs and exports. */
  readonly home: string;
  /** Postgres to use; null starts the embedded server under `home`. */
  readonly databaseUrl: string | null;
  /**
   * The same database past the pooler that `databaseUrl` leads to, for what needs a session of its own; null where that is no
   * pooler.
   */
  readonly databaseDirectUrl: string | null;
  readonly databaseReplicaUrl: string | null;
  readonly databaseConnections: number;
  /** Folder of the Postgres that the embedded server runs; null where npm installed one. */
  readonly postgresFolder: string | null;
  /** Kafka brokers to use; null keeps the log in Postgres tables. */
  readonly kafkaBrokers: readonly string[] | null;
  /** Prefixes the name of every topic and consumer group in Kafka, so that installations share a cluster without meeting. */
  readonly kafkaPrefix: string;
  /** How long Kafka waits for a silent member of a group before it reassigns its partitions to others, ms. */
  readonly kafkaSessionMs: number;
  /**
   * How records travel to Kafka and lie there. A search takes 5.2 bytes a byte of its text uncompressed, 2.0 in gzip (`npm run
   * bench -- search`).
   */
  readonly kafkaCompression: 'none' | 'gzip';
  readonly kafkaSecurity: KafkaSecurity;
  /** Copies of each topic; null makes three, or as many as there are brokers, and accepts topics as they are. */
  readonly kafkaReplication: number | null;
  /** How many copies hold a record before it counts as durable; null makes it one less than the copies. */
  readonly kafkaMinInsync: number | null;
  /** Partitions of each topic that this program creates. */
  readonly partitions: number;
  /** The project that this program's own events belong to. */
  readonly project: string;
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Where a worker says whether it lives and is ready; null for nowhere. 0 takes any free port. */
  readonly probePort: number | null;
  /** How long a server that is asked to stop still answers, while its readiness says that it stops, ms. */
  readonly drainMs: number;
  /** Names that the server answers to, in lower case; empty for its own on loopback, else for any. */
  readonly allowedHosts: readonly string[];
  /** Addresses of proxies whose `X-Forwarded-For` is believed; empty believes none. */
  readonly trustedProxies: readonly string[];
  /** SHA-256 in hex of an API key that servers know from their start; null for none. */
  readonly firstKeyHash: string | null;
  readonly logLevel: LogLevel;
  /** The most events folded to show the read models as of a moment. */
  readonly asOfLimit: number;
  /** Folders of tokenizers by name of the policy or the model whose tokens they decode. */
  readonly tokenizers: Readonly<Record<string, string>>;
  /** Folder of the store of objects, where there is no bucket. */
  readonly blobs: string;
  /** What takes the place of that folder; null for none. */
  readonly bucket: Bucket | null;
  /**
   * Whether payload of a project that says nothing is sealed by a key per stream, so that it can be forgotten. It takes half
   * of the throughput of appends, and with Kafka the keys are in another store than the record.
   */
  readonly seal: boolean;
  /** The file with the master key that wraps the keys of streams; null stores them as they are. */
  readonly masterKeyFile: string | null;
  readonly limits: RequestLimits;
  readonly openai: { readonly apiKey: string | null; readonly baseUrl: string | null };
  /** The model server that `/v1/proxy` stands for; null for none. */
  readonly upstream: string | null;
  /** What becomes of a call through the proxy whose record cannot be appended. */
  readonly whenUnrecorded: 'fail' | 'pass';
  /** What the proxy passes on unrecorded: `PATH` or `METHOD PATH` with what is below it, or `*`. */
  readonly proxyPaths: readonly string[];
  /** The Python that trains language models, with torch installed; null looks for `python3`. */
  readonly python: string | null;
  /** The Python with verl and TRL that tests of the adapters run; null looks for `python3`. */
  readonly consumersPython: string | null;
  /** The Python with Gymnasium and verifiers that tests of their adapters run; null looks for `python3`. */
  readonly adaptersPython: string | null;
  /** The Python with the clients that sinks post by; null looks for `python3`. */
  readonly sinksPython: string | null;
  /** The Python with the packages of published environments; null looks for `python3`. */
  readonly worldsPython: string | null;
  /** How many of a policy's newest torch checkpoints stay on the disk, besides those that something names. */
  readonly torchCheckpoints: number;
  /** Where spans of this program's own work are exported; null for nowhere. */
  readonly tracing: Tracing | null;
  /** Whether output may be coloured on a terminal (https://no-color.org). */
  readonly color: boolean;
  readonly cores: number;
}

/** How this program's own work is traced, by the variables of OpenTelemetry; the SDK reads those of its batches by itself. */
export interface Tracing {
  /** Of OTLP over HTTP, with its path. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** `service.name`; null names it after the process. */
  readonly service: string | null;
  readonly resource: Readonly<Record<string, string>>;
  readonly sampler: (typeof SAMPLERS)[number];
  /** Of traces, where the sampler is one of a ratio. */
  readonly ratio: number;
}
const SAMPLERS = [
  ...(['always_on', 'always_off', 'traceidratio'] as const),
  ...(['parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio'] as const),
] as const;

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** What one request, and all requests in flight together, may cost. */
export interface RequestLimits {
  /** Bytes of one body after decompression. */
  readonly bodyBytes: number;
  readonly eventsPerRequest: number;
  /** Requests to `POST /v1/events` in flight at once; one more is answered 429. */
  readonly ingestRequests: number;
  /** Decompressed bytes of all bodies in flight at once; more is answered 429. */
  readonly ingestBytes: number;
  /** Open connections; one more is cut. */
  readonly connections: number;
  /** Requests of one key that are answered at the same time. */
  readonly requestsPerKey: number;
}

const MIB = 1_048_576;
const count = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`));
const url = (protocols: readonly string[]) =>
  z.string().refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), {
    message: `must be a URL that begins with ${protocols.map((p) => `${p}//`).join(' or ')}`,
  });
const postgresAddress = z.string().superRefine((text, context) => {
  const fault = faultOfAddress(text);
  if (fault !== null) context.addIssue({ code: 'custom', message: fault });
});
const paths = z
  .string()
  .transform((text) => text.split(',').map((path) => path.trim()))
  .pipe(
    z.array(
      z
        .string()
        .regex(
          /^(\*|((GET|POST|DELETE) )?[\w.~-]+(\/[\w.~-]+)*)$/,
          'must be a list of paths below the model server such as embeddings,GET models, or *',
        ),
    ),
  );
const names = z
  .string()
  .transform((text) => text.split(',').map((name) => name.trim().toLowerCase()))
  .pipe(
    z
      .array(
        z.string().regex(/^([a-z0-9._-]{1,253}|\[[0-9a-f:.]+\])$/, 'must be a list of names without scheme and port, NAME,NAME'),
      )
      .min(1),
  );
const isSome = (network: string) => !network.endsWith('/0');
const proxies = z
  .string()
  .transform((text) => text.split(',').map((each) => each.trim()))
  .pipe(
    z.array(
      z.union(
        [
          z.ipv4(),
          z.ipv6(),
          z.cidrv4().refine(isSome),
          z.cidrv6().refine(isSome),
          z.enum(['loopback', 'linklocal', 'uniquelocal']),
        ],
        {
          error:
            'must be a list of addresses and networks smaller than all, ADDRESS,NETWORK/BITS, or of loopback, linklocal, uniquelocal',
        },
      ),
    ),
  );
const pairs = z
  .string()
  .regex(/^\s*[^=,\s]+\s*=[^,]*(,\s*[^=,\s]+\s*=[^,]*)*$/, 'must be a list NAME=VALUE,NAME=VALUE')
  .transform((text) =>
    Object.fromEntries(
      text.split(',').map((each) => {
        const at = each.indexOf('=');
        return [each.slice(0, at).trim(), unescaped(each.slice(at + 1).trim())];
      }),
    ),
  );
const tokenizers = z
  .string()
  .regex(/^[^=,]+=[^,]+(,[^=,]+=[^,]+)*$/, 'must be a list of names and folders, NAME=FOLDER,NAME=FOLDER')
  .transform((text) =>
    Object.fromEntries(
      text.split(',').map((each) => [each.slice(0, each.indexOf('=')).trim(), each.slice(each.indexOf('=') + 1).trim()]),
    ),
  );
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
const brokers = z
  .string()
  .transform((text) => text.split(',').map((broker) => broker.trim()))
  .pipe(z.array(z.string().regex(/^[^\s:/]+:\d{1,5}$|^\[[0-9a-fA-F:]+\]:\d{1,5}$/, 'must be a list host:port,host:port')).min(1));

/**
 * One environment variable: its rule, what an unset one means, and what it is for. The page of the reference is made from
 * this list.
 */
export const VARIABLES = {
  ESPALIER_HOME: {
    rule: z.string(),
    unset: '.espalier',
    about: 'folder of the embedded database, blobs, exports and checkpoints of language models',
  },
  DATABASE_URL: {
    rule: postgresAddress,
    unset: 'the embedded server',
    about: 'Postgres to use; of several hosts with `target_session_attrs`',
  },
  DATABASE_DIRECT_URL: {
    rule: postgresAddress,
    unset: 'DATABASE_URL',
    about: 'the same database past the pooler that DATABASE_URL leads to: for LISTEN, snapshots and readers of the embedded log',
  },
  DATABASE_REPLICA_URL: {
    rule: postgresAddress,
    unset: 'DATABASE_URL',
    about: 'a standby of the same database, from which the API answers GraphQL, tables and pages',
  },
  DATABASE_CONNECTIONS: {
    rule: count(4, 1_000),
    unset: '16',
    about: 'most connections of the pool of a process; `api` opens two such pools and 15 more for queries',
  },
  ESPALIER_POSTGRES: {
    rule: z.string(),
    unset: 'the programs that npm installs',
    about: 'folder of a Postgres 18 (`bin/initdb`, `bin/postgres`) that the embedded server runs',
  },
  KAFKA_BROKERS: { rule: brokers, unset: 'the log in Postgres tables', about: 'Kafka brokers, host:port,host:port' },
  KAFKA_SECURITY_PROTOCOL: {
    rule: z.enum(['PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL']),
    unset: 'PLAINTEXT',
    about: 'how brokers are spoken to: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL',
  },
  KAFKA_SSL_CA_FILE: {
    rule: z.string(),
    unset: 'the authorities that Node trusts',
    about: 'PEM file of who signed the certificates of the brokers',
  },
  KAFKA_SSL_CERT_FILE: {
    rule: z.string(),
    unset: 'no certificate is shown',
    about: 'PEM file of the certificate of this client',
  },
  KAFKA_SSL_KEY_FILE: { rule: z.string(), unset: 'no certificate is shown', about: 'PEM file of the key of KAFKA_SSL_CERT_FILE' },
  KAFKA_SASL_MECHANISM: {
    rule: z.enum(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER']),
    unset: 'SCRAM-SHA-512',
    about: 'how this client logs in: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER',
  },
  KAFKA_SASL_USERNAME: { rule: z.string(), unset: 'no login', about: 'user, or the client of OAUTHBEARER' },
  KAFKA_SASL_PASSWORD: { rule: z.string(), unset: 'no login', about: 'its password, or the secret of the client' },
  KAFKA_OAUTH_TOKEN_URL: {
    rule: url(['http:', 'https:']),
    unset: 'none',
    about: 'where OAUTHBEARER gets tokens, by client credentials',
  },
  KAFKA_OAUTH_SCOPE: { rule: z.string(), unset: 'none is asked for', about: 'scope of these tokens' },
  ESPALIER_KAFKA_PREFIX: {
    rule: z.string().regex(/^[A-Za-z0-9._-]{0,100}$/, 'takes letters, digits, dots, underscores and dashes, 100 at most'),
    unset: 'espalier.',
    about: 'prefixes the names of topics and groups in Kafka',
  },
  ESPALIER_KAFKA_SESSION_MS: {
    rule: count(6_000, 300_000),
    unset: '30000',
    about: 'how long a killed consumer keeps its partitions, ms',
  },
  ESPALIER_KAFKA_COMPRESSION: {
    rule: z.enum(['gzip', 'none']),
    unset: 'gzip',
    about: 'how records are kept in Kafka: gzip, none',
  },
  ESPALIER_KAFKA_REPLICATION: {
    rule: count(1, 100),
    unset: '3, or the number of brokers',
    about: 'copies of each topic in Kafka; a topic with fewer is refused',
  },
  ESPALIER_KAFKA_MIN_INSYNC: {
    rule: count(1, 100),
    unset: 'the copies less 1',
    about: 'copies that hold a record before it is durable (min.insync.replicas); a topic with fewer is refused',
  },
  ESPALIER_PARTITIONS: { rule: count(1, 1_000), unset: '24', about: 'partitions of each topic, fixed at the first start' },
  ESPALIER_PROJECT: {
    rule: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'takes lower-case letters, digits and dashes, 63 at most'),
    unset: 'default',
    about: "project of this program's own events",
  },
  ESPALIER_HOST: {
    rule: z.string().max(255),
    unset: '127.0.0.1',
    about: 'address to listen on; any but loopback needs API keys',
  },
  ESPALIER_PORT: { rule: count(0, 65_535), unset: '4000', about: 'port to listen on; 0 takes a free one' },
  ESPALIER_PROBE_PORT: {
    rule: count(0, 65_535),
    unset: 'no port',
    about: 'port of a worker for /healthz, /readyz and /metrics of its process, at ESPALIER_HOST',
  },
  ESPALIER_DRAIN_MS: {
    rule: count(0, 600_000),
    unset: '0',
    about: 'how long a server that is asked to stop still answers, while /readyz says that it stops, ms',
  },
  ESPALIER_LOG_LEVEL: { rule: z.enum(LOG_LEVELS), unset: 'info', about: LOG_LEVELS.join(', ') },
  ESPALIER_BLOBS: { rule: z.string(), unset: 'blobs in ESPALIER_HOME', about: 'folder of payloads over 64 KiB' },
  ESPALIER_OBJECTS: {
    rule: z
      .string()
      .regex(
        /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*\/?$/,
        'must be s3://BUCKET or s3://BUCKET/PREFIX',
      ),
    unset: 'the folder ESPALIER_BLOBS',
    about: 's3://BUCKET/PREFIX for payloads over 64 KiB, drawn segments and exports',
  },
  ESPALIER_OBJECTS_REDIRECT: {
    rule: z.enum(['on', 'off']),
    unset: 'off',
    about: 'whether clients read exports from the bucket itself, by a signed address that they must be able to reach: on, off',
  },
  ESPALIER_S3_PATH_STYLE: {
    rule: z.enum(['on', 'off']),
    unset: 'on where AWS_ENDPOINT_URL_S3 is set',
    about: 'whether the bucket is in the path of a request and not in the name of the host: on, off',
  },
  AWS_ENDPOINT_URL_S3: {
    rule: url(['http:', 'https:']),
    unset: 'that of AWS',
    about: 'address of a store that is compatible with S3',
  },
  AWS_REGION: { rule: z.string(), unset: 'that of the AWS profile', about: 'region of the bucket' },
  AWS_ACCESS_KEY_ID: {
    rule: z.string(),
    unset: 'what the AWS SDK finds: a profile, a web identity, the role of the machine',
    about: 'access key of the bucket',
  },
  AWS_SECRET_ACCESS_KEY: { rule: z.string(), unset: 'as AWS_ACCESS_KEY_ID', about: 'its secret' },
  AWS_SESSION_TOKEN: { rule: z.string(), unset: 'none', about: 'token of temporary credentials' },
  ESPALIER_SEAL: {
    rule: z.enum(['on', 'off']),
    unset: 'off',
    about:
      'whether texts and tokens of projects that say nothing are encrypted by a key per stream, so that they can be forgotten: on, off',
  },
  ESPALIER_MASTER_KEY_FILE: {
    rule: z.string(),
    unset: 'keys of streams that are stored as they are',
    about: 'file with 64 hexadecimal digits, the master key that encrypts the keys of streams',
  },
  ESPALIER_ASOF_LIMIT: { rule: count(1, 100_000_000), unset: '200000', about: 'events folded to show a moment of the record' },
  ESPALIER_TOKENIZERS: {
    rule: tokenizers,
    unset: 'none: texts of tokens are known where the record says them',
    about: 'folders with tokenizer.json by policy or model, NAME=FOLDER,NAME=FOLDER: the studio shows the texts of their tokens',
  },
  ESPALIER_MAX_BODY_BYTES: { rule: count(1_024, 512 * MIB), unset: '33554432', about: 'one request body, decompressed' },
  ESPALIER_MAX_EVENTS: { rule: count(1, 100_000), unset: '10000', about: 'events in one request' },
  ESPALIER_MAX_INGEST_REQUESTS: { rule: count(1, 10_000), unset: '32', about: 'ingest requests processed at once' },
  ESPALIER_MAX_INGEST_BYTES: {
    rule: count(1_024, 65_536 * MIB),
    unset: '134217728',
    about: 'bytes of all ingest bodies in memory at once',
  },
  ESPALIER_MAX_CONNECTIONS: { rule: count(1, 100_000), unset: '1024', about: 'open HTTP connections' },
  ESPALIER_MAX_REQUESTS_PER_KEY: {
    rule: count(1, 100_000),
    unset: '256',
    about: 'requests of one API key that are answered at once, waits and event streams among them',
  },
  ESPALIER_ALLOWED_HOSTS: {
    rule: names,
    unset: 'names of loopback on loopback, else any',
    about: 'names that the server answers to, without a port, NAME,NAME; on loopback besides its own',
  },
  ESPALIER_TRUSTED_PROXIES: {
    rule: proxies,
    unset: 'none: X-Forwarded-For is ignored',
    about: 'proxies whose X-Forwarded-For names the client, ADDRESS,NETWORK/BITS; loopback, linklocal, uniquelocal for theirs',
  },
  ESPALIER_FIRST_KEY_HASH: {
    rule: z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256, 64 hexadecimal digits in lower case'),
    unset: 'none: `espalier keys create` makes the first key',
    about:
      'SHA-256 of an API key that servers know from their start: `espalier_` and 32 random bytes in base64url, of every scope and project',
  },
  OPENAI_API_KEY: {
    rule: z.string(),
    unset: 'no key is sent',
    about: 'key for the OpenAI-compatible policy, where its address names none',
  },
  OPENAI_BASE_URL: {
    rule: url(['http:', 'https:']),
    unset: 'given on the command line',
    about: 'address of an OpenAI-compatible server',
  },
  ESPALIER_UPSTREAM: {
    rule: url(['http:', 'https:', 'secret:']),
    unset: 'none',
    about:
      'model server that the proxy at /v1/proxy passes calls on to, up to and without /chat/completions; its key by name, or OPENAI_API_KEY',
  },
  ESPALIER_WHEN_UNRECORDED: {
    rule: z.enum(['fail', 'pass']),
    unset: 'pass',
    about: 'what becomes of a call through the proxy whose record cannot be appended: fail, pass',
  },
  ESPALIER_PROXY_PATHS: {
    rule: paths,
    unset: 'those of OpenAI’s and vLLM’s inference, such as GET models,embeddings',
    about: 'paths of the model server that the proxy passes on unrecorded, with what is below them: PATH,METHOD PATH; * for all',
  },
  ESPALIER_PYTHON: { rule: z.string(), unset: 'python3', about: 'Python with torch, for the torch backend' },
  ESPALIER_CONSUMERS_PYTHON: {
    rule: z.string(),
    unset: 'that of ESPALIER_PYTHON',
    about: 'Python with verl and TRL, for the tests of their adapters',
  },
  ESPALIER_ADAPTERS_PYTHON: {
    rule: z.string(),
    unset: 'that of ESPALIER_PYTHON',
    about: 'Python with Gymnasium and verifiers, for the tests of their adapters',
  },
  ESPALIER_SINKS_PYTHON: {
    rule: z.string(),
    unset: 'that of ESPALIER_PYTHON',
    about: 'Python with wandb, mlflow, trackio or tensorboard, and httpx, for `espalier sink` (`python/requirements-sinks.txt`)',
  },
  ESPALIER_WORLDS_PYTHON: {
    rule: z.string(),
    unset: 'that of ESPALIER_PYTHON',
    about: 'Python with the packages of published environments (`python/requirements-worlds.txt`)',
  },
  ESPALIER_TORCH_CHECKPOINTS: {
    rule: count(2, 1_000_000),
    unset: '5',
    about: 'newest torch checkpoints of a policy that stay; older ones go unless an evaluation, a fork or a release names them',
  },
  ESPALIER_CHILD_ENV: {
    rule: z.string().regex(/^\s*\w+\s*(,\s*\w+\s*)*$/, 'takes names of variables, with commas between them'),
    unset: 'none',
    about: 'more variables that trainers and model servers inherit, NAME,NAME; they receive no others that may hold a secret',
  },
  OTEL_TRACES_EXPORTER: {
    rule: z.string(),
    unset: 'nothing is traced',
    about: 'otlp exports spans of this program’s own work; anything else leaves tracing off',
  },
  OTEL_SDK_DISABLED: { rule: z.string(), unset: 'as OTEL_TRACES_EXPORTER says', about: 'true leaves tracing off' },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    rule: url(['http:', 'https:']),
    unset: '`http://localhost:4318`',
    about: 'collector of spans, to which /v1/traces is added',
  },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: {
    rule: url(['http:', 'https:']),
    unset: 'below OTEL_EXPORTER_OTLP_ENDPOINT',
    about: 'the whole address that spans are sent to',
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: {
    rule: z.enum(['http/protobuf']),
    unset: 'http/protobuf',
    about: 'http/protobuf',
  },
  OTEL_EXPORTER_OTLP_HEADERS: { rule: pairs, unset: 'none', about: 'headers that are sent with spans, NAME=VALUE,NAME=VALUE' },
  OTEL_SERVICE_NAME: { rule: z.string(), unset: '`espalier` and the role', about: 'name of this process in traces' },
  OTEL_RESOURCE_ATTRIBUTES: { rule: pairs, unset: 'none', about: 'attributes of this process in traces, NAME=VALUE,NAME=VALUE' },
  OTEL_TRACES_SAMPLER: { rule: z.enum(SAMPLERS), unset: 'parentbased_always_on', about: SAMPLERS.join(', ') },
  OTEL_TRACES_SAMPLER_ARG: {
    rule: z
      .string()
      .regex(/^(0(\.\d+)?|1(\.0+)?)$/, 'must be a number from 0 to 1')
      .transform(Number),
    unset: '1',
    about: 'part of the traces that a sampler of a ratio keeps, 0 to 1',
  },
  NO_COLOR: { rule: z.string(), unset: 'colour on terminals', about: 'any value turns colour off' },
} as const;
export type Variable = keyof typeof VARIABLES;
export const VARIABLE_NAMES = Object.keys(VARIABLES) as readonly Variable[]; // the keys of an object are its keys

/** A variable that cannot be used: which one, why, and what to do. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly variable: string;
  constructor(variable: Variable, value: string | null, reason: string) {
    const given = value === null ? '' : `, not ${shown(variable, value)}`;
    super(`${variable} ${reason}${given}; correct it, or unset it for ${VARIABLES[variable].unset}`);
    this.variable = variable;
  }
}

/** Reads and checks the environment. An empty variable counts as unset. @throws ConfigError naming the first wrong variable. */
export function readConfig(env: Readonly<Record<string, string | undefined>> = process.env): Config {
  const home = resolve(read(env, 'ESPALIER_HOME') ?? '.espalier');
  const blobs = read(env, 'ESPALIER_BLOBS');
  return {
    home,
    databaseUrl: read(env, 'DATABASE_URL') ?? null,
    databaseDirectUrl: read(env, 'DATABASE_DIRECT_URL') ?? null,
    databaseReplicaUrl: read(env, 'DATABASE_REPLICA_URL') ?? null,
    databaseConnections: read(env, 'DATABASE_CONNECTIONS') ?? 16,
    postgresFolder: read(env, 'ESPALIER_POSTGRES') ?? null,
    kafkaBrokers: read(env, 'KAFKA_BROKERS') ?? null,
    kafkaPrefix: read(env, 'ESPALIER_KAFKA_PREFIX') ?? 'espalier.',
    kafkaSessionMs: read(env, 'ESPALIER_KAFKA_SESSION_MS') ?? 30_000,
    kafkaCompression: read(env, 'ESPALIER_KAFKA_COMPRESSION') ?? 'gzip',
    kafkaSecurity: kafkaSecurityOf(env),
    kafkaReplication: read(env, 'ESPALIER_KAFKA_REPLICATION') ?? null,
    kafkaMinInsync: read(env, 'ESPALIER_KAFKA_MIN_INSYNC') ?? null,
    partitions: read(env, 'ESPALIER_PARTITIONS') ?? 24,
    project: read(env, 'ESPALIER_PROJECT') ?? 'default',
    host: read(env, 'ESPALIER_HOST') ?? '127.0.0.1',
    port: read(env, 'ESPALIER_PORT') ?? 4_000,
    probePort: read(env, 'ESPALIER_PROBE_PORT') ?? null,
    drainMs: read(env, 'ESPALIER_DRAIN_MS') ?? 0,
    allowedHosts: read(env, 'ESPALIER_ALLOWED_HOSTS') ?? [],
    trustedProxies: read(env, 'ESPALIER_TRUSTED_PROXIES') ?? [],
    firstKeyHash: read(env, 'ESPALIER_FIRST_KEY_HASH') ?? null,
    logLevel: read(env, 'ESPALIER_LOG_LEVEL') ?? 'info',
    asOfLimit: read(env, 'ESPALIER_ASOF_LIMIT') ?? 200_000,
    tokenizers: read(env, 'ESPALIER_TOKENIZERS') ?? {},
    blobs: blobs === undefined ? join(home, 'blobs') : resolve(blobs),
    bucket: bucketOf(env),
    seal: read(env, 'ESPALIER_SEAL') === 'on',
    masterKeyFile: read(env, 'ESPALIER_MASTER_KEY_FILE') ?? null,
    limits: {
      bodyBytes: read(env, 'ESPALIER_MAX_BODY_BYTES') ?? DEFAULT_LIMITS.bodyBytes,
      eventsPerRequest: read(env, 'ESPALIER_MAX_EVENTS') ?? DEFAULT_LIMITS.eventsPerRequest,
      ingestRequests: read(env, 'ESPALIER_MAX_INGEST_REQUESTS') ?? DEFAULT_LIMITS.ingestRequests,
      ingestBytes: read(env, 'ESPALIER_MAX_INGEST_BYTES') ?? DEFAULT_LIMITS.ingestBytes,
      connections: read(env, 'ESPALIER_MAX_CONNECTIONS') ?? DEFAULT_LIMITS.connections,
      requestsPerKey: read(env, 'ESPALIER_MAX_REQUESTS_PER_KEY') ?? DEFAULT_LIMITS.requestsPerKey,
    },
    openai: { apiKey: read(env, 'OPENAI_API_KEY') ?? null, baseUrl: read(env, 'OPENAI_BASE_URL') ?? null },
    upstream: read(env, 'ESPALIER_UPSTREAM') ?? null,
    whenUnrecorded: read(env, 'ESPALIER_WHEN_UNRECORDED') ?? 'pass',
    proxyPaths: read(env, 'ESPALIER_PROXY_PATHS') ?? PROXY_PATHS,
    python: read(env, 'ESPALIER_PYTHON') ?? null,
    consumersPython: read(env, 'ESPALIER_CONSUMERS_PYTHON') ?? read(env, 'ESPALIER_PYTHON') ?? null,
    adaptersPython: read(env, 'ESPALIER_ADAPTERS_PYTHON') ?? read(env, 'ESPALIER_PYTHON') ?? null,
    sinksPython: read(env, 'ESPALIER_SINKS_PYTHON') ?? read(env, 'ESPALIER_PYTHON') ?? null,
    worldsPython: read(env, 'ESPALIER_WORLDS_PYTHON') ?? read(env, 'ESPALIER_PYTHON') ?? null,
    torchCheckpoints: read(env, 'ESPALIER_TORCH_CHECKPOINTS') ?? 5,
    tracing: tracingOf(env),
    color: read(env, 'NO_COLOR') === undefined,
    cores: availableParallelism(),
  };
}

/** What asks a model for something, or names what it can be asked. What administers a model server is not among it. */
export const PROXY_PATHS: readonly string[] = [
  ...['GET models', 'embeddings', 'completions', 'audio', 'images', 'files', 'uploads', 'batches', 'moderations'],
  ...['rerank', 'score', 'pooling', 'classify', 'tokenize', 'detokenize', 'responses', 'chat/completions'],
];

export const DEFAULT_LIMITS: RequestLimits = {
  bodyBytes: 32 * MIB,
  eventsPerRequest: 10_000,
  ingestRequests: 32, // each holds its body in memory; the log's own queue is what takes them in
  ingestBytes: 128 * MIB, // about four bodies of the largest size; parsed JSON takes three to five times its bytes
  connections: 1_024,
  requestsPerKey: 256, // a cluster of collectors with one key; each waits for an answer of its own
};

function read<V extends Variable>(
  env: Readonly<Record<string, string | undefined>>,
  variable: V,
): z.infer<(typeof VARIABLES)[V]['rule']> | undefined {
  const value = env[variable]?.trim() || (SECRET.has(variable) ? readFile(env, variable, `${variable}_FILE`) : undefined);
  if (value === undefined || value === '') return undefined;
  const parsed = VARIABLES[variable].rule.safeParse(value);
  if (!parsed.success) throw new ConfigError(variable, value, reasonOf(parsed.error, variable));
  return parsed.data as z.infer<(typeof VARIABLES)[V]['rule']>; // the rule of this very variable gave it
}

/** Reads the file that a variable names, without blanks at its ends. @throws ConfigError. */
function readFile(
  env: Readonly<Record<string, string | undefined>>,
  variable: Variable,
  named: string = variable,
): string | undefined {
  const file = env[named]?.trim();
  if (file === undefined || file === '') return undefined;
  try {
    const text = readFileSync(file, 'utf8').trim();
    if (text !== '') return text;
  } catch (error) {
    throw new ConfigError(
      variable,
      null,
      `is to be read from the file ${file}, which cannot be read: ${(error as Error).message}`,
    ); // of the file system
  }
  throw new ConfigError(variable, null, `is to be read from the file ${file}, which is empty`);
}

function kafkaSecurityOf(env: Readonly<Record<string, string | undefined>>): KafkaSecurity {
  const protocol = read(env, 'KAFKA_SECURITY_PROTOCOL') ?? 'PLAINTEXT';
  const refused = (needs: string, names: readonly Variable[]) => {
    const set = names.find((name) => env[name]?.trim() || env[`${name}_FILE`]?.trim());
    if (set) throw new ConfigError('KAFKA_SECURITY_PROTOCOL', protocol, `must be ${needs} where ${set} is set`);
  };
  if (!protocol.includes('SSL')) refused('SSL or SASL_SSL', ['KAFKA_SSL_CA_FILE', 'KAFKA_SSL_CERT_FILE', 'KAFKA_SSL_KEY_FILE']);
  if (!protocol.startsWith('SASL'))
    refused('SASL_SSL or SASL_PLAINTEXT', ['KAFKA_SASL_MECHANISM', 'KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD']);
  return { tls: protocol.includes('SSL') ? tlsOf(env) : null, login: protocol.startsWith('SASL') ? loginOf(env) : null };
}

function tlsOf(env: Readonly<Record<string, string | undefined>>): Tls {
  const [cert, key] = [readFile(env, 'KAFKA_SSL_CERT_FILE'), readFile(env, 'KAFKA_SSL_KEY_FILE')];
  if ((cert === undefined) !== (key === undefined))
    throw new ConfigError(cert ? 'KAFKA_SSL_KEY_FILE' : 'KAFKA_SSL_CERT_FILE', null, 'is missing: a certificate needs its key');
  return {
    ca: readFile(env, 'KAFKA_SSL_CA_FILE') ?? null,
    client: cert !== undefined && key !== undefined ? { cert, key } : null,
  };
}

function loginOf(env: Readonly<Record<string, string | undefined>>): Login {
  const required = (variable: 'KAFKA_SASL_USERNAME' | 'KAFKA_SASL_PASSWORD' | 'KAFKA_OAUTH_TOKEN_URL') => {
    const value = read(env, variable);
    if (value === undefined) throw new ConfigError(variable, null, 'is missing: KAFKA_SECURITY_PROTOCOL asks for a login');
    return value;
  };
  const [username, password] = [required('KAFKA_SASL_USERNAME'), required('KAFKA_SASL_PASSWORD')];
  const mechanism = read(env, 'KAFKA_SASL_MECHANISM') ?? 'SCRAM-SHA-512';
  if (mechanism !== 'OAUTHBEARER') return { mechanism: MECHANISMS[mechanism], username, password };
  const scope = read(env, 'KAFKA_OAUTH_SCOPE') ?? null;
  return {
    mechanism: 'oauthbearer',
    tokenUrl: required('KAFKA_OAUTH_TOKEN_URL'),
    clientId: username,
    clientSecret: password,
    scope,
  };
}

/**
 * Off unless `OTEL_TRACES_EXPORTER` asks for it: an address alone is often that of /v1/traces, set for the agents that are recorded.
 * Where it is off the other variables may be meant for other programs, and are not checked.
 */
function tracingOf(env: Readonly<Record<string, string | undefined>>): Tracing | null {
  const exporter = read(env, 'OTEL_TRACES_EXPORTER');
  if (exporter !== 'otlp' || read(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return null;
  read(env, 'OTEL_EXPORTER_OTLP_PROTOCOL');
  const base = read(env, 'OTEL_EXPORTER_OTLP_ENDPOINT') ?? 'http://localhost:4318';
  return {
    endpoint: read(env, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') ?? `${base.replace(/\/$/, '')}/v1/traces`,
    headers: read(env, 'OTEL_EXPORTER_OTLP_HEADERS') ?? {},
    service: read(env, 'OTEL_SERVICE_NAME') ?? null,
    resource: read(env, 'OTEL_RESOURCE_ATTRIBUTES') ?? {},
    sampler: read(env, 'OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on',
    ratio: read(env, 'OTEL_TRACES_SAMPLER_ARG') ?? 1,
  };
}

function bucketOf(env: Readonly<Record<string, string | undefined>>): Bucket | null {
  const [bucket = '', ...prefix] = (read(env, 'ESPALIER_OBJECTS') ?? '').replace(/^s3:\/\/|\/$/g, '').split('/');
  if (bucket === '') return null;
  const endpoint = read(env, 'AWS_ENDPOINT_URL_S3') ?? null;
  const style = read(env, 'ESPALIER_S3_PATH_STYLE');
  return {
    bucket,
    prefix: prefix.join('/'),
    endpoint,
    region: read(env, 'AWS_REGION') ?? null,
    pathStyle: style === undefined ? endpoint !== null : style === 'on',
    credentials: credentialsOf(env),
    redirects: read(env, 'ESPALIER_OBJECTS_REDIRECT') === 'on',
  };
}

function credentialsOf(env: Readonly<Record<string, string | undefined>>): Bucket['credentials'] {
  const [accessKeyId, secretAccessKey] = [read(env, 'AWS_ACCESS_KEY_ID'), read(env, 'AWS_SECRET_ACCESS_KEY')];
  if (accessKeyId === undefined && secretAccessKey === undefined) return null;
  const missing = (variable: Variable) => new ConfigError(variable, null, 'is missing: a key needs its secret');
  if (accessKeyId === undefined) throw missing('AWS_ACCESS_KEY_ID');
  if (secretAccessKey === undefined) throw missing('AWS_SECRET_ACCESS_KEY');
  return { accessKeyId, secretAccessKey, sessionToken: read(env, 'AWS_SESSION_TOKEN') ?? null };
}

const MECHANISMS = { PLAIN: 'plain', 'SCRAM-SHA-256': 'scram-sha-256', 'SCRAM-SHA-512': 'scram-sha-512' } as const;

function reasonOf(error: z.ZodError, variable: Variable): string {
  const issue = error.issues[0];
  if (issue?.code === 'invalid_value') return `must be one of ${VARIABLES[variable].about}`;
  return issue?.message ?? 'is not valid';
}

/** Each may also be in a file, which the variable with _FILE names. */
export const SECRET: ReadonlySet<Variable> = new Set<Variable>([
  'ESPALIER_UPSTREAM',
  'OPENAI_API_KEY',
  'DATABASE_URL',
  'DATABASE_DIRECT_URL',
  'DATABASE_REPLICA_URL',
  'KAFKA_SASL_PASSWORD',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'ESPALIER_FIRST_KEY_HASH',
  'ESPALIER_CHILD_ENV',
  'OTEL_EXPORTER_OTLP_HEADERS',
]);

function shown(variable: Variable, value: string): string {
  return SECRET.has(variable) ? 'the text given' : JSON.stringify(withoutLogin(value).slice(0, 80));
}

/** Replaces the login of an address, up to its last `@`: a faulty one may have a password with `@` or `/`. */
function withoutLogin(value: string): string {
  return value.replace(/:\/\/.*@/s, '://(secret)@');
}

/** A variable as this process finds it. */
export interface Setting {
  readonly variable: Variable;
  /** As it was given, of a secret only that it is set; null where it is unset. */
  readonly value: string | null;
  /** The file that holds it, named by the variable with _FILE; null where the variable itself does. */
  readonly file: string | null;
}

/** Lists every variable, without what is secret in its value. */
export function listSettings(env: Readonly<Record<string, string | undefined>> = process.env): readonly Setting[] {
  return VARIABLE_NAMES.map((variable) => {
    const isSecret = SECRET.has(variable);
    const value = env[variable]?.trim();
    if (value) return { variable, value: isSecret ? '(secret)' : withoutLogin(value), file: null };
    const file = (isSecret && env[`${variable}_FILE`]?.trim()) || null;
    return { variable, value: file === null ? null : '(secret)', file };
  });
}

/** Returns everything that is wrong with the environment, of each variable its first fault: `readConfig` throws one of them. */
export function configFaults(env: Readonly<Record<string, string | undefined>> = process.env): readonly ConfigError[] {
  const own = VARIABLE_NAMES.filter((variable) => !variable.startsWith('OTEL_')); // where tracing is off, those are of other programs
  const checks = [
    ...own.map((variable) => () => read(env, variable)),
    () => kafkaSecurityOf(env),
    () => bucketOf(env),
    () => tracingOf(env),
  ];
  const faults = new Map<string, ConfigError>();
  for (const check of checks)
    try {
      check();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      if (!faults.has(error.variable)) faults.set(error.variable, error);
    }
  return [...faults.values()];
}

/** Variables under our prefix that the Python client reads. */
const OF_CLIENT = [
  'ESPALIER_URL',
  'ESPALIER_TOKEN',
  'ESPALIER_TOKEN_FILE',
  'ESPALIER_SPOOL',
  'ESPALIER_BIN',
  'ESPALIER_RUN',
] as const;

/** Lists the variables that are set under the prefixes of this program, and that neither it nor its client reads. */
export function unknownVariables(env: Readonly<Record<string, string | undefined>> = process.env): readonly string[] {
  const known = new Set<string>([
    ...VARIABLE_NAMES.flatMap((variable) => [variable, ...(SECRET.has(variable) ? [`${variable}_FILE`] : [])]),
    ...OF_CLIENT,
  ]);
  return Object.keys(env)
    .filter((name) => /^(ESPALIER|KAFKA)_/.test(name) && !known.has(name) && !name.startsWith(NAMED))
    .sort();
}

const NAMED = 'ESPALIER_SECRET_';

/**
 * Returns where a secret that is given by name may be: its variable, what that holds, and its file, which the variable with _FILE
 * names, else the one in the home. @throws ConfigError.
 */
export function secretSources(name: string, env: Readonly<Record<string, string | undefined>> = process.env) {
  const variable = `${NAMED}${name}`;
  const home = resolve(read(env, 'ESPALIER_HOME') ?? '.espalier');
  const file = env[`${variable}_FILE`]?.trim() || join(home, 'secrets', name);
  return { variable, value: env[variable]?.trim() || undefined, file };
}

/**
 * Returns the environment of a program that this one starts for an operator: what is `inheritable`, with the variables that
 * `ESPALIER_CHILD_ENV` names, and more. @throws ConfigError.
 */
export function childEnvironment(
  more: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string | undefined>> = process.env,
): Readonly<Record<string, string | undefined>> {
  const named = (read(own, 'ESPALIER_CHILD_ENV') ?? '').split(',').map((name) => name.trim());
  return { ...inheritable(own, new Set(named)), ...more };
}
