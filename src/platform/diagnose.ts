import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { ObjectsRefused } from '../blobs/object-store.ts';
import { openS3Objects } from '../blobs/s3-objects.ts';
import { TOPICS } from '../events/catalogue.ts';
import { newId } from '../events/new-id.ts';
import type { EventLog } from '../log/event-log.ts';
import { openLogSource } from '../log/log-source.ts';
import { openDatabase } from '../postgres/database.ts';
import { describeDatabase } from '../postgres/describe-database.ts';
import { findPostgresBinaries } from '../postgres/embedded-server-binaries.ts';
import { readMasterKey } from '../postgres/key-wrapping.ts';
import { refuseUnknownMigrations } from '../postgres/migrate.ts';
import { refusePooledSessions } from '../postgres/pooled-sessions.ts';
import { refuseNewerProjections } from '../projections/install.ts';
import { PROJECTORS } from '../projections/runner.ts';
import type { Bucket } from '../runtime/bucket.ts';
import type { Config, Setting } from '../runtime/config.ts';
import { isLoopback } from '../runtime/is-loopback.ts';
import type { Tls } from '../runtime/kafka-security.ts';
import { kafkaSourceOf, LogMismatch, needsHome } from './open-platform.ts';
import { faultOfReplica } from './replica.ts';

/** One step of what an installation needs. Steps of a part after one that failed are not tried. */
export interface Finding {
  readonly part: 'settings' | 'folders' | 'objects' | 'kafka' | 'database' | 'replica';
  readonly step: string;
  /** `warned`: a start works, and something is to be repaired. */
  readonly state: 'ok' | 'warned' | 'failed' | 'skipped';
  /** What was found, or why it failed and what to do. */
  readonly detail: string;
}

/** What a step found; of an object that it is to be repaired. */
type Step = readonly [step: string, check: () => Promise<string | { readonly warning: string }>];

/**
 * Lists the settings and goes through what they name, part by part and step by step, in the order in which a start needs it. Writes no
 * topic and no table, and of objects in a bucket one, which it deletes.
 */
export async function diagnose(config: Config, settings: readonly Setting[]): Promise<readonly Finding[]> {
  const findings = [
    ...settings.flatMap(({ variable, value, file }): readonly Finding[] => {
      if (value === null) return [];
      return [
        { part: 'settings', step: 'set', state: 'ok', detail: `${variable}${file === null ? `=${value}` : `_FILE=${file}`}` },
      ];
    }),
    ...(await inTurn('folders', [
      [
        'home',
        async () =>
          needsHome(config) || isLoopback(config.host) ? writable('ESPALIER_HOME', config.home) : 'not needed by a server',
      ],
      [
        'blobs',
        async () => (config.bucket === null ? writable('ESPALIER_BLOBS', config.blobs) : 'not needed: they are in a bucket'),
      ],
      ['master key', async () => masterKey(config.masterKeyFile)],
    ])),
    ...(config.bucket === null ? [] : await diagnoseBucket(config.bucket)),
  ];
  let identity: string | null = null;
  if (config.kafkaBrokers) {
    const { found, findings: ofKafka } = await diagnoseKafka(config, config.kafkaBrokers);
    identity = found;
    for (const each of ofKafka) findings.push(each);
  }
  return [...findings, ...(await diagnoseDatabase(config, identity)), ...(await diagnoseReplica(config))];
}

async function inTurn(part: Finding['part'], steps: readonly Step[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [step, check] of steps) {
    const failed = findings.find(({ state }) => state === 'failed');
    if (failed) {
      findings.push({ part, step, state: 'skipped', detail: `after ${failed.step}` });
      continue;
    }
    try {
      const detail = await check();
      if (typeof detail === 'string') findings.push({ part, step, state: 'ok', detail });
      else findings.push({ part, step, state: 'warned', detail: detail.warning });
    } catch (error) {
      findings.push({ part, step, state: 'failed', detail: error instanceof Error ? error.message : String(error) });
    }
  }
  return findings;
}

async function writable(variable: string, folder: string): Promise<string> {
  try {
    await access(folder, constants.W_OK);
    return folder;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return `${folder}, which the first start makes`; // of the file system
    throw new Error(`${folder} is not writable; make it so, or set ${variable} to another folder`);
  }
}

async function masterKey(file: string | null): Promise<string> {
  if (file === null) return 'none: keys of streams are stored as they are';
  await readMasterKey(file);
  return file;
}

const SKEW_MS = 10_000;
const OTHER = Buffer.from('other content');

async function diagnoseBucket(bucket: Bucket): Promise<readonly Finding[]> {
  const objects = await openS3Objects(bucket);
  const name = `doctor/${newId()}`;
  const bytes = Buffer.from('espalier doctor');
  try {
    const fault: unknown = await objects.check().then(
      () => null,
      (error: unknown) => error,
    );
    const failIf = (isOfStep: boolean) => {
      if (fault !== null && isOfStep) throw fault;
    };
    return await inTurn('objects', [
      [
        'reach',
        async () => {
          failIf(!(fault instanceof ObjectsRefused));
          return bucket.endpoint ?? 'AWS';
        },
      ],
      [
        'login',
        async () => {
          failIf(fault instanceof ObjectsRefused && fault.step === 'login');
          return bucket.credentials === null ? 'credentials that the AWS SDK found' : 'AWS_ACCESS_KEY_ID';
        },
      ],
      [
        'bucket',
        async () => {
          failIf(true);
          return objects.place;
        },
      ],
      [
        'write',
        async () => {
          await objects.put(name, bytes, 'keep');
          const skewMs = Math.abs(Date.now() - ((await objects.stat(name))?.putAt ?? Number.NaN));
          // a put that keeps sends an object again by its age
          if (!(skewMs < SKEW_MS))
            return { warning: `the clocks of ${objects.place} and of this machine differ by ${Math.round(skewMs / 1_000)} s` };
          await objects.put(name, OTHER, 'keep');
          if (OTHER.equals((await objects.get(name)) ?? bytes))
            throw new Error(
              `${objects.place} replaces an object that is written under the condition that there is none (If-None-Match: *); use a store or a version of it that keeps this condition`,
            );
          return 'an object, under the condition that there is none';
        },
      ],
      [
        'read',
        async () => {
          const read = await objects.get(name);
          if (read === undefined || !bytes.equals(read))
            throw new Error(`${objects.place} does not return what was written to it`);
          return 'the same object';
        },
      ],
      [
        'delete',
        async () => {
          if (!(await objects.remove(name, 0))) throw new Error(`${objects.place}/${name} stays although it was deleted`);
          return 'the same object';
        },
      ],
    ]);
  } finally {
    objects.close();
  }
}

const REACH_MS = 5_000;
const SOON_DAYS = 14;

async function diagnoseKafka(
  config: Config,
  brokers: readonly string[],
): Promise<{ readonly found: string | null; readonly findings: readonly Finding[] }> {
  const { tls, login } = config.kafkaSecurity;
  let reached = '';
  let found: string | null = null;
  let log: EventLog | undefined;
  const notes: string[] = [];
  const steps: Step[] = [
    [
      'reach',
      async () => {
        const answers = await Promise.all(brokers.map(async (broker) => ({ broker, fault: await faultOfReaching(broker) })));
        reached = answers.find(({ fault }) => fault === null)?.broker ?? '';
        const away = answers.filter(({ fault }) => fault !== null).map(({ broker, fault }) => `${broker} (${fault})`);
        if (reached === '') throw new Error(`nobody listens at ${away.join(', ')}; check KAFKA_BROKERS and the network`);
        return away.length === 0 ? brokers.join(', ') : `${reached}; nobody listens at ${away.join(', ')}`;
      },
    ],
    ['TLS', async () => (tls === null ? 'none: KAFKA_SECURITY_PROTOCOL asks for none' : describeCertificate(reached, tls))],
    [
      'login',
      async () => {
        log = await openLogSource(kafkaSourceOf(config, brokers), 'doctor', (note) => notes.push(note));
        found = await log.identity();
        return `${login === null ? 'none' : login.mechanism}; cluster ${found}`;
      },
    ],
    [
      'topics',
      async () => {
        const missing: string[] = [];
        for (const topic of TOPICS) if (!(await log?.ends([topic]).then(isThere, isThere))) missing.push(topic);
        const names = missing.map((topic) => `${config.kafkaPrefix}${topic}`);
        if (missing.length === TOPICS.length) return `none yet: the first start creates ${names.join(', ')}`;
        if (missing.length > 0)
          throw new Error(
            `the topics ${names.join(', ')} are missing where others are; restore them, or move the record to a new prefix`,
          );
        await log?.ensureTopics(TOPICS, config.partitions); // which compares those that are there
        if (notes.length > 0) return { warning: notes.join('; ') };
        return `${TOPICS.length}, of the shape that is configured`;
      },
    ],
    [
      'group',
      async () => {
        await log?.unread(PROJECTORS, []); // asks for the group, whatever it reads
        return `${config.kafkaPrefix}${PROJECTORS}`;
      },
    ],
  ];
  try {
    const findings = await inTurn('kafka', steps);
    return { found, findings };
  } finally {
    await log?.close();
  }
}

/** Whether offsets of a topic could be read. @throws any other reason than that the topic is missing. */
function isThere(answer: unknown): boolean {
  if (!(answer instanceof Error)) return true;
  if ('code' in answer && answer.code === 'unknown-topic') return false;
  throw answer;
}

function placeOf(broker: string): { readonly host: string; readonly port: number } {
  const at = broker.lastIndexOf(':');
  return { host: broker.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(broker.slice(at + 1)) };
}

function faultOfReaching(broker: string): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connectTcp({ ...placeOf(broker), timeout: REACH_MS });
    const end = (fault: string | null) => {
      socket.destroy();
      resolve(fault);
    };
    socket.once('connect', () => end(null));
    socket.once('timeout', () => end('no answer'));
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
  });
}

/** Shakes hands with a broker; returns whose certificate it showed and until when that holds. */
function describeCertificate(broker: string, { ca, client }: Tls): Promise<string> {
  const { host, port } = placeOf(broker);
  return new Promise((resolve, reject) => {
    const socket = connectTls({
      host,
      port,
      servername: /^[\d.:]+$/.test(host) ? '' : host,
      ...(ca !== null && { ca }),
      ...client,
    });
    socket.setTimeout(REACH_MS, () => socket.destroy(new Error(`${broker} does not shake hands; check KAFKA_SECURITY_PROTOCOL`)));
    socket.once('error', (error) =>
      reject(new Error(`${broker}: ${error.message}; check KAFKA_SSL_CA_FILE and KAFKA_SECURITY_PROTOCOL`)),
    );
    socket.once('secureConnect', () => {
      const { subject, valid_to } = socket.getPeerCertificate();
      socket.destroy();
      const days = Math.floor((Date.parse(valid_to) - Date.now()) / 86_400_000);
      const expiry = days < SOON_DAYS ? `, which expires in ${days} days` : '';
      resolve(`${broker} shows the certificate of ${subject.CN ?? 'nobody'}, valid until ${valid_to}${expiry}`);
    });
  });
}

const OLDEST_POSTGRES = 140_000;

/** @param identity of the log in Kafka; null where there is none. */
async function diagnoseDatabase(config: Config, identity: string | null): Promise<readonly Finding[]> {
  const { databaseUrl: url } = config;
  if (url === null)
    return inTurn('database', [['programs', async () => `embedded server, ${(await findPostgresBinaries()).postgres}`]]);
  const database = await openDatabase(url, { applicationName: 'espalier doctor', max: 2, connectMs: REACH_MS }).catch(
    (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
  );
  const opened = () => {
    if (database instanceof Error) throw database;
    return database.pool;
  };
  const described = () => describeDatabase(opened());
  try {
    return await inTurn('database', [
      [
        'reach and login',
        async () => {
          const { name, account } = await described();
          return `database ${name} as ${account}`;
        },
      ],
      [
        'version',
        async () => {
          const { versionNumber, version } = await described();
          if (versionNumber < OLDEST_POSTGRES) throw new Error(`Postgres ${version} is too old; version 14 or later is needed`);
          return `Postgres ${version}`;
        },
      ],
      [
        'sessions',
        async () => {
          await refusePooledSessions(opened(), config.databaseDirectUrl ?? url);
          return config.databaseDirectUrl === null ? 'at DATABASE_URL' : 'at DATABASE_DIRECT_URL';
        },
      ],
      [
        'rights',
        async () => {
          const { mayCreateSchemas, mayCreateTables } = await described();
          if (!mayCreateSchemas) throw new Error('the account may not create schemas; grant create on the database to it');
          if (!mayCreateTables)
            throw new Error('the account may not create tables in the schema public; grant create on schema public to it');
          return 'schemas and tables';
        },
      ],
      [
        'record',
        async () => {
          await refuseUnknownMigrations(opened());
          await refuseNewerProjections(opened());
          const { logIdentity } = await described();
          if (logIdentity === null) return 'empty: the first start makes the tables';
          if (identity !== null && logIdentity !== identity) throw new LogMismatch(logIdentity, identity);
          return `of the log ${logIdentity}`;
        },
      ],
    ]);
  } finally {
    if (!(database instanceof Error)) await database.close();
  }
}

/** Whether the standby answers, and holds what the database holds. */
async function diagnoseReplica({ databaseUrl, databaseReplicaUrl: url }: Config): Promise<readonly Finding[]> {
  if (url === null || databaseUrl === null) return [];
  return inTurn('replica', [
    [
      'reach, login and record',
      async () => {
        const database = await openDatabase(databaseUrl, { applicationName: 'espalier doctor', max: 1, connectMs: REACH_MS });
        try {
          const away = await faultOfReplica(url, database);
          if (away) throw away;
          return 'of the same record';
        } finally {
          await database.close();
        }
      },
    ],
  ]);
}
