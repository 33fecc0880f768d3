import { chmod, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import {
  ConfigError,
  configFaults,
  DEFAULT_LIMITS,
  listSettings,
  PROXY_PATHS,
  readConfig,
  unknownVariables,
  VARIABLE_NAMES,
  VARIABLES,
} from './config.ts';

describe('readConfig', () => {
  test('an empty environment means the embedded mode on loopback', () => {
    expect(readConfig({})).toEqual({
      home: resolve('.espalier'),
      databaseUrl: null,
      databaseDirectUrl: null,
      databaseReplicaUrl: null,
      databaseConnections: 16,
      postgresFolder: null,
      kafkaBrokers: null,
      kafkaPrefix: 'espalier.',
      kafkaSessionMs: 30_000,
      kafkaCompression: 'gzip',
      kafkaSecurity: { tls: null, login: null },
      kafkaReplication: null,
      kafkaMinInsync: null,
      partitions: 24,
      project: 'default',
      host: '127.0.0.1',
      port: 4000,
      probePort: null,
      drainMs: 0,
      allowedHosts: [],
      firstKeyHash: null,
      trustedProxies: [],
      logLevel: 'info',
      blobs: resolve('.espalier/blobs'),
      bucket: null,
      seal: false,
      masterKeyFile: null,
      asOfLimit: 200_000,
      tokenizers: {},
      limits: DEFAULT_LIMITS,
      openai: { apiKey: null, baseUrl: null },
      upstream: null,
      whenUnrecorded: 'pass',
      proxyPaths: PROXY_PATHS,
      python: null,
      consumersPython: null,
      adaptersPython: null,
      sinksPython: null,
      worldsPython: null,
      torchCheckpoints: 5,
      tracing: null,
      color: true,
      cores: expect.any(Number),
    });
  });

  test('an empty variable counts as unset', () => {
    expect(readConfig({ ESPALIER_PORT: ' ', DATABASE_URL: '' })).toEqual(readConfig({}));
  });

  // a mechanism is of a login, and who starts Python says which where none is set
  const ELSEWHERE = ['KAFKA_SASL_MECHANISM', 'ESPALIER_PYTHON'];
  const written = Object.entries(VARIABLES).filter(
    ([name, { rule, unset }]) => /^[^ ]+$/.test(unset) && rule.safeParse(unset).success && !ELSEWHERE.includes(name),
  );
  test.each(written.map(([name, { unset }]) => [name, unset]))('%s unset means %s, as its list says', (name, unset) => {
    expect(written.length).toBeGreaterThan(15);
    expect(readConfig({ [name]: unset })).toEqual(readConfig({}));
  });

  test('every variable that is set is read', () => {
    const config = readConfig({
      ESPALIER_HOME: '/data',
      DATABASE_URL: 'postgres://u:p@db:5432/e',
      DATABASE_DIRECT_URL: 'postgres://u:p@db:5433/e',
      DATABASE_REPLICA_URL: 'postgres://u:p@a:5432,b:5432/e?target_session_attrs=prefer-standby',
      DATABASE_CONNECTIONS: '8',
      ESPALIER_POSTGRES: '/postgres',
      KAFKA_BROKERS: 'a:9092, b:9093',
      ESPALIER_KAFKA_PREFIX: 'lab.',
      ESPALIER_KAFKA_SESSION_MS: '6000',
      ESPALIER_KAFKA_COMPRESSION: 'none',
      KAFKA_SECURITY_PROTOCOL: 'SASL_SSL',
      KAFKA_SASL_MECHANISM: 'SCRAM-SHA-256',
      KAFKA_SASL_USERNAME: 'alice',
      KAFKA_SASL_PASSWORD: 's',
      ESPALIER_KAFKA_REPLICATION: '3',
      ESPALIER_KAFKA_MIN_INSYNC: '2',
      ESPALIER_PARTITIONS: '3',
      ESPALIER_PROBE_PORT: '9',
      ESPALIER_DRAIN_MS: '50',
      ESPALIER_PROJECT: 'atlas',
      ESPALIER_UPSTREAM: 'http://models:8000/v1',
      ESPALIER_WHEN_UNRECORDED: 'fail',
      ESPALIER_PROXY_PATHS: 'GET models, embeddings',
      ESPALIER_HOST: '::1',
      ESPALIER_PORT: '0',
      ESPALIER_LOG_LEVEL: 'debug',
      ESPALIER_TOKENIZERS: 'writer=/models/writer, org/model=/models/b=c',
      ESPALIER_MAX_BODY_BYTES: '2048',
      ESPALIER_MAX_EVENTS: '7',
      ESPALIER_MAX_INGEST_REQUESTS: '2',
      ESPALIER_MAX_INGEST_BYTES: '4096',
      ESPALIER_MAX_CONNECTIONS: '5',
      ESPALIER_MAX_REQUESTS_PER_KEY: '4',
      ESPALIER_ALLOWED_HOSTS: 'Lab.example, [::2]',
      ESPALIER_TRUSTED_PROXIES: '10.1.2.3, fd00::/8, uniquelocal',
      ESPALIER_FIRST_KEY_HASH: 'ab'.repeat(32),
      ESPALIER_ASOF_LIMIT: '9',
      ESPALIER_OBJECTS: 's3://lab/a/b/',
      ESPALIER_OBJECTS_REDIRECT: 'on',
      ESPALIER_S3_PATH_STYLE: 'off',
      AWS_ENDPOINT_URL_S3: 'http://minio:9000',
      AWS_REGION: 'eu-central-1',
      AWS_ACCESS_KEY_ID: 'a',
      AWS_SECRET_ACCESS_KEY: 's',
      AWS_SESSION_TOKEN: 't',
      OPENAI_API_KEY: 'k',
      OPENAI_BASE_URL: 'http://gpu:8000/v1',
      ESPALIER_PYTHON: '/venv/bin/python',
      ESPALIER_CONSUMERS_PYTHON: '/consumers/bin/python',
      ESPALIER_ADAPTERS_PYTHON: '/adapters/bin/python',
      ESPALIER_SINKS_PYTHON: '/sinks/bin/python',
      ESPALIER_WORLDS_PYTHON: '/worlds/bin/python',
      ESPALIER_TORCH_CHECKPOINTS: '3',
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector:4318/',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20t, x-team=a',
      OTEL_SERVICE_NAME: 'lab',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.1',
      NO_COLOR: '1',
    });
    expect(config).toEqual({
      home: '/data',
      databaseUrl: 'postgres://u:p@db:5432/e',
      databaseDirectUrl: 'postgres://u:p@db:5433/e',
      databaseReplicaUrl: 'postgres://u:p@a:5432,b:5432/e?target_session_attrs=prefer-standby',
      databaseConnections: 8,
      postgresFolder: '/postgres',
      kafkaBrokers: ['a:9092', 'b:9093'],
      kafkaPrefix: 'lab.',
      kafkaSessionMs: 6_000,
      kafkaCompression: 'none',
      kafkaSecurity: {
        tls: { ca: null, client: null },
        login: { mechanism: 'scram-sha-256', username: 'alice', password: 's' },
      },
      kafkaReplication: 3,
      kafkaMinInsync: 2,
      partitions: 3,
      project: 'atlas',
      host: '::1',
      port: 0,
      probePort: 9,
      drainMs: 50,
      allowedHosts: ['lab.example', '[::2]'],
      firstKeyHash: 'ab'.repeat(32),
      trustedProxies: ['10.1.2.3', 'fd00::/8', 'uniquelocal'],
      logLevel: 'debug',
      blobs: '/data/blobs',
      bucket: {
        bucket: 'lab',
        prefix: 'a/b',
        endpoint: 'http://minio:9000',
        region: 'eu-central-1',
        pathStyle: false,
        credentials: { accessKeyId: 'a', secretAccessKey: 's', sessionToken: 't' },
        redirects: true,
      },
      seal: false,
      masterKeyFile: null,
      upstream: 'http://models:8000/v1',
      whenUnrecorded: 'fail',
      proxyPaths: ['GET models', 'embeddings'],
      asOfLimit: 9,
      tokenizers: { writer: '/models/writer', 'org/model': '/models/b=c' },
      limits: {
        bodyBytes: 2048,
        eventsPerRequest: 7,
        ingestRequests: 2,
        ingestBytes: 4096,
        connections: 5,
        requestsPerKey: 4,
      },
      openai: { apiKey: 'k', baseUrl: 'http://gpu:8000/v1' },
      python: '/venv/bin/python',
      consumersPython: '/consumers/bin/python',
      adaptersPython: '/adapters/bin/python',
      sinksPython: '/sinks/bin/python',
      worldsPython: '/worlds/bin/python',
      torchCheckpoints: 3,
      tracing: {
        endpoint: 'https://collector:4318/v1/traces',
        headers: { authorization: 'Bearer t', 'x-team': 'a' },
        service: 'lab',
        resource: { 'deployment.environment': 'test' },
        sampler: 'parentbased_traceidratio',
        ratio: 0.1,
      },
      color: false,
      cores: expect.any(Number),
    });
  });

  test.each([
    ['ESPALIER_TOKENIZERS', '/models/writer', 'must be a list of names and folders, NAME=FOLDER,NAME=FOLDER'],
    ['ESPALIER_PORT', '70000', 'must be at most 65535'],
    ['ESPALIER_PORT', '-1', 'must be a whole number'],
    ['ESPALIER_PARTITIONS', '0', 'must be at least 1'],
    ['ESPALIER_PROJECT', 'Atlas 1', 'takes lower-case letters, digits and dashes, 63 at most'],
    ['ESPALIER_PARTITIONS', '1e3', 'must be a whole number'],
    ['DATABASE_URL', 'postgres://a:5432,/e', 'names an empty host'],
    ['DATABASE_URL', 'postgres://a:x,b/e', 'has a host or port that cannot be read'],
    ['DATABASE_URL', 'postgres://a,b/e?target_session_attrs=leader', 'has target_session_attrs other than any'],
    ['DATABASE_CONNECTIONS', '3', 'must be at least 4'],
    ['DATABASE_URL', 'mysql://x', 'must be a URL that begins with postgres:// or postgresql://'],
    ['KAFKA_BROKERS', 'a:9092,,b:1', 'must be a list host:port'],
    ['KAFKA_BROKERS', 'http://a:9092', 'must be a list host:port'],
    ['ESPALIER_LOG_LEVEL', 'loud', 'must be one of debug, info, warn, error'],
    ['ESPALIER_TRUSTED_PROXIES', '10.0.0.0/33', 'must be a list of addresses and networks'],
    ['ESPALIER_TRUSTED_PROXIES', 'ingress.lab', 'must be a list of addresses and networks'],
    ['ESPALIER_MAX_EVENTS', 'many', 'must be a whole number'],
    ['ESPALIER_OBJECTS', 'https://lab.s3.amazonaws.com', 'must be s3://BUCKET or s3://BUCKET/PREFIX'],
    ['ESPALIER_OBJECTS', 's3://lab/../other', 'must be s3://BUCKET or s3://BUCKET/PREFIX'],
  ] as const)('a wrong %s (%s) is refused in one message with its remedy', (variable, value, reason) => {
    const read = () => readConfig({ [variable]: value });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(`${variable} ${reason}`);
    expect(read).toThrow(`unset it for ${VARIABLES[variable].unset}`);
  });

  test('tracing is on where OTEL_TRACES_EXPORTER asks for otlp, and no variable of other programs turns it on or is refused', () => {
    const ofAgents = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4000', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };
    for (const off of [{}, { OTEL_TRACES_EXPORTER: 'console' }, { OTEL_TRACES_EXPORTER: 'none' }])
      expect(readConfig({ ...ofAgents, ...off }).tracing).toBeNull();
    const on = { OTEL_TRACES_EXPORTER: 'otlp' };
    expect(readConfig({ ...on, OTEL_SDK_DISABLED: 'true' }).tracing).toBeNull();
    expect(readConfig(on).tracing).toMatchObject({
      endpoint: 'http://localhost:4318/v1/traces',
      sampler: 'parentbased_always_on',
    });
    expect(() => readConfig({ ...on, ...ofAgents })).toThrow('OTEL_EXPORTER_OTLP_PROTOCOL must be one of http/protobuf');
    expect(() => readConfig({ ...on, OTEL_TRACES_SAMPLER_ARG: '2' })).toThrow('must be a number from 0 to 1');
  });

  test('a secret is read from the file that its variable with _FILE names, without the end of the line', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'espalier-secrets-'));
    try {
      await writeFile(join(folder, 'url'), 'postgres://u:p@db/e\n');
      await symlink('url', join(folder, 'linked')); // as Kubernetes mounts a secret
      await chmod(join(folder, 'url'), 0o440);
      expect(readConfig({ DATABASE_URL_FILE: join(folder, 'linked') }).databaseUrl).toBe('postgres://u:p@db/e');
      await writeFile(join(folder, 'empty'), '\n');
      expect(() => readConfig({ DATABASE_URL_FILE: join(folder, 'empty') })).toThrow(
        /DATABASE_URL is to be read from the file .*, which is empty/,
      );
      expect(() => readConfig({ OPENAI_API_KEY_FILE: join(folder, 'none') })).toThrow(
        /OPENAI_API_KEY is to be read from the file .*none/,
      );
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test.each([
    [
      { KAFKA_SASL_PASSWORD: 'secret' },
      /^KAFKA_SECURITY_PROTOCOL must be SASL_SSL or SASL_PLAINTEXT where KAFKA_SASL_PASSWORD is set/,
    ],
    [
      { KAFKA_SECURITY_PROTOCOL: 'SASL_PLAINTEXT', KAFKA_SSL_CA_FILE: 'ca.pem' },
      /must be SSL or SASL_SSL where KAFKA_SSL_CA_FILE is set/,
    ],
    [{ KAFKA_SECURITY_PROTOCOL: 'SASL_SSL', KAFKA_SASL_USERNAME: 'a' }, /^KAFKA_SASL_PASSWORD is missing/],
    [
      { KAFKA_SECURITY_PROTOCOL: 'SSL', KAFKA_SSL_CA_FILE: '/none/ca.pem' },
      /^KAFKA_SSL_CA_FILE is to be read from the file \/none\/ca.pem/,
    ],
  ])('settings of Kafka that do not fit together are refused by name: %p', (env, message) => {
    expect(() => readConfig(env)).toThrow(message);
  });

  test('a bucket is read with the credentials of files, and of a compatible store in the path', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'espalier-secrets-'));
    try {
      await writeFile(join(folder, 'secret'), 'hidden\n');
      const env = { ESPALIER_OBJECTS: 's3://lab', AWS_SECRET_ACCESS_KEY_FILE: join(folder, 'secret') };
      expect(readConfig({ ...env, AWS_ACCESS_KEY_ID: 'a', AWS_ENDPOINT_URL_S3: 'http://minio:9000' }).bucket).toMatchObject({
        prefix: '',
        pathStyle: true,
        credentials: { accessKeyId: 'a', secretAccessKey: 'hidden', sessionToken: null },
      });
      expect(() => readConfig(env)).toThrow(/^AWS_ACCESS_KEY_ID is missing: a key needs its secret/);
      expect(listSettings({ AWS_SECRET_ACCESS_KEY: 'hidden' })).toContainEqual({
        variable: 'AWS_SECRET_ACCESS_KEY',
        value: '(secret)',
        file: null,
      });
      expect(readConfig({ ESPALIER_OBJECTS: 's3://lab' }).bucket).toMatchObject({ credentials: null, pathStyle: false });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('settings are listed without what is secret in them', () => {
    const env = {
      DATABASE_URL: 'postgres://u:hidden@h/d',
      OPENAI_API_KEY_FILE: '/run/key',
      ESPALIER_PORT: '9',
      PATH: '/bin',
      OPENAI_BASE_URL: 'http://u:hidden@h/v1',
    };
    expect(listSettings(env).filter(({ value }) => value !== null)).toEqual([
      { variable: 'DATABASE_URL', value: '(secret)', file: null },
      { variable: 'ESPALIER_PORT', value: '9', file: null },
      { variable: 'OPENAI_API_KEY', value: '(secret)', file: '/run/key' },
      { variable: 'OPENAI_BASE_URL', value: 'http://(secret)@h/v1', file: null },
    ]);
    expect(listSettings({})).toHaveLength(VARIABLE_NAMES.length);
  });

  test('everything that is wrong is found at once, each fault under the name of its variable', () => {
    const env = {
      ESPALIER_PORT: 'tcp://10.0.0.1:4000',
      ESPALIER_DRAIN_MS: '-1',
      DATABASE_URL_FILE: '/none/url',
      KAFKA_SECURITY_PROTOCOL: 'SASL_SSL',
      KAFKA_SASL_USERNAME: 'a',
      ESPALIER_CHILD_ENV: 'A B',
    };
    const faults = configFaults(env).map(({ variable }) => variable);
    expect(faults.sort()).toEqual([
      'DATABASE_URL',
      'ESPALIER_CHILD_ENV',
      'ESPALIER_DRAIN_MS',
      'ESPALIER_PORT',
      'KAFKA_SASL_PASSWORD',
    ]);
    expect(configFaults({ ESPALIER_PORT: '9' })).toEqual([]);
  });

  test('variables of our prefixes that nothing reads are named', () => {
    const env = {
      ESPALIER_PROBE_PROT: '1',
      KAFKA_BROKER: 'a:1',
      DATABASE_URL_FILE: '/f',
      KAFKA_SASL_PASSWORD_FILE: '/f',
      ESPALIER_PORT_FILE: '/f',
      ESPALIER_SECRET_MODEL: 's',
      ESPALIER_TOKEN: 't',
      ESPALIER_SPOOL: '/spool',
      PATH: '/bin',
    };
    expect(unknownVariables(env)).toEqual(['ESPALIER_PORT_FILE', 'ESPALIER_PROBE_PROT', 'KAFKA_BROKER']);
  });

  test('a password in a wrong DATABASE_URL is not repeated', () => {
    expect(() => readConfig({ DATABASE_URL: 'mysql://u:secret@h' })).toThrow(/^(?!.*secret)/);
  });

  test.each(['htp://u:hidden@h', 'http://u:hid@hidden@h:port', 'http://u:hid/hidden@h', `htp://u:${'hidden'.repeat(20)}@h`])(
    'a login in a wrong address is not repeated: %s',
    (address) => {
      expect(() => readConfig({ OPENAI_BASE_URL: address })).toThrow(/^OPENAI_BASE_URL must be(?!.*hid).*:\/\/\(secret\)@h/);
    },
  );
});
