import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type RunningKafka, startKafka } from '../../infra/kafka/start-kafka.ts';
import { fresh, record } from '../log/contract/fixture.ts';
import { openKafkaLog } from '../log/kafka-log.ts';
import { denyGroup } from '../log/kafka-log-testing.ts';
import { readConfig } from '../runtime/config.ts';
import { freePort } from '../runtime/free-port.ts';
import type { KafkaSecurity, Login } from '../runtime/kafka-security.ts';
import { describeWithKafka } from '../testing/kafka-describe.ts';
import { diagnose } from './diagnose.ts';

const PASSWORD = 'only for this test';
const openssl = promisify(execFile);

describeWithKafka('a broker behind TLS and a login', () => {
  let folder: string;
  let broker: RunningKafka;
  let tokens: Server;
  const ports = { clear: 0, login: 0, certificate: 0 };
  const pem = { ca: '', other: '', cert: '', key: '' };
  const asked: string[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'espalier-secured-'));
    await makeAuthority('ca');
    await makeAuthority('other');
    await makeCertificate('broker', 'subjectAltName=IP:127.0.0.1');
    await makeCertificate('client', 'subjectAltName=DNS:client');
    await writeFile(join(folder, 'keystore.pem'), `${await text('broker.key')}${await text('broker.crt')}`);
    Object.assign(pem, {
      ca: await text('ca.crt'),
      other: await text('other.crt'),
      cert: await text('client.crt'),
      key: await text('client.key'),
    });
    [ports.login, ports.certificate] = [await freePort(), await freePort()];
    const [port, controller] = [await freePort(), await freePort()];
    ports.clear = port;
    const at = (places: readonly (readonly [string, number])[]) =>
      places.map(([name, number]) => `${name}://127.0.0.1:${number}`).join(',');
    const reached = [
      ['PLAINTEXT', port],
      ['SASL_SSL', ports.login],
      ['SSL', ports.certificate],
    ] as const;
    const module = 'org.apache.kafka.common.security';
    broker = await startKafka({
      folder: join(folder, 'broker'),
      port,
      format: ['--add-scram', `SCRAM-SHA-512=[name=alice,password=${PASSWORD}]`],
      settings: {
        listeners: at([...reached, ['CONTROLLER', controller]]),
        'controller.quorum.voters': `1@127.0.0.1:${controller}`,
        'advertised.listeners': at(reached),
        'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL',
        'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-512,OAUTHBEARER',
        'listener.name.sasl_ssl.plain.sasl.jaas.config': `${module}.plain.PlainLoginModule required user_alice="${PASSWORD}";`,
        'listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config': `${module}.scram.ScramLoginModule required;`,
        'listener.name.sasl_ssl.oauthbearer.sasl.jaas.config': `${module}.oauthbearer.OAuthBearerLoginModule required;`,
        'ssl.keystore.type': 'PEM',
        'ssl.keystore.location': join(folder, 'keystore.pem'),
        'ssl.truststore.type': 'PEM',
        'ssl.truststore.location': join(folder, 'ca.crt'),
        'listener.name.ssl.ssl.client.auth': 'required',
        'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
        'allow.everyone.if.no.acl.found': 'true',
        'super.users': 'User:ANONYMOUS',
      },
    });
    tokens = createServer(async (req, res) => {
      let body = '';
      for await (const chunk of req) body += chunk;
      asked.push(`${req.headers.authorization} ${body}`);
      if (!body.includes('scope=kafka')) return res.writeHead(401).end('who are you?');
      res.end(JSON.stringify({ access_token: unsignedToken('alice'), token_type: 'Bearer', expires_in: 600 }));
    }).listen(0, '127.0.0.1');
    await once(tokens, 'listening');
  }, 120_000);
  afterAll(async () => {
    tokens?.close();
    await broker?.kill();
    await rm(folder, { recursive: true, force: true });
  });

  const text = (name: string) => readFile(join(folder, name), 'utf8');
  const run = (...args: string[]) => openssl('openssl', args, { cwd: folder });
  const KEY = ['-newkey', 'rsa:2048', '-nodes'];
  const makeAuthority = (name: string) =>
    run('req', '-x509', ...KEY, '-days', '2', '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.crt`);
  async function makeCertificate(name: string, extension: string): Promise<void> {
    await writeFile(join(folder, `${name}.ext`), extension);
    await run('req', ...KEY, '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.csr`);
    const signed = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', `${name}.ext`];
    await run('x509', '-req', '-in', `${name}.csr`, ...signed, '-out', `${name}.crt`);
  }

  const forbidGroup = (group: string) => denyGroup([`127.0.0.1:${ports.clear}`], 'alice', group);

  async function opened(port: number, security: KafkaSecurity | undefined): Promise<number> {
    const log = await openKafkaLog({ brokers: [`127.0.0.1:${port}`], clientId: 'secured', security });
    try {
      const topic = fresh('topic');
      await log.ensureTopics([topic], 2);
      const receipts = await log.append([record(topic, 'k')]);
      return receipts.length;
    } finally {
      await log.close();
    }
  }
  const byLogin = (login: Login) => opened(ports.login, { tls: { ca: pem.ca, client: null }, login });
  const scram = { mechanism: 'scram-sha-512', username: 'alice', password: PASSWORD } as const;
  const bearer = (scope: string | null): Login => {
    const { port } = tokens.address() as AddressInfo; // of a server that listens
    const client = { clientId: 'espalier', clientSecret: 'a:b c' };
    return { mechanism: 'oauthbearer', tokenUrl: `http://127.0.0.1:${port}/token`, ...client, scope };
  };

  test('records are appended as a user of SCRAM, PLAIN and OAUTHBEARER, and by a certificate', async () => {
    expect(await byLogin(scram)).toBe(1);
    expect(await byLogin({ ...scram, mechanism: 'plain' })).toBe(1);
    expect(await byLogin(bearer('kafka'))).toBe(1);
    const client = { cert: pem.cert, key: pem.key };
    expect(await opened(ports.certificate, { tls: { ca: pem.ca, client }, login: null })).toBe(1);
    const [first = ''] = asked;
    expect(Buffer.from(first.split(' ')[1] ?? '', 'base64').toString()).toBe('espalier:a%3Ab%20c');
  });

  test.each([
    ['a wrong password', () => byLogin({ ...scram, password: 'wrong' }), /the login is not accepted: check KAFKA_SASL_MECHANISM/],
    ['a mechanism without such a user', () => byLogin({ ...scram, mechanism: 'scram-sha-256' }), /KAFKA_SASL_MECHANISM/],
    ['a token that is not given', () => byLogin(bearer(null)), /the login is not accepted.*answered 401/],
    [
      'a certificate of an unknown authority',
      () => opened(ports.login, { tls: { ca: pem.other, client: null }, login: scram }),
      /certificate of the broker is not accepted: KAFKA_SSL_CA_FILE/,
    ],
    [
      'no certificate where one is asked for',
      () => opened(ports.certificate, { tls: { ca: pem.ca, client: null }, login: null }),
      /check KAFKA_SECURITY_PROTOCOL and the client certificate/,
    ],
  ])('%s is refused at the start with what to check', async (_, open, message) => {
    await expect(open()).rejects.toMatchObject({ code: 'refused', retryable: false, message: expect.stringMatching(message) });
  });

  test('the doctor names the step that fails: reach, TLS, login, topics', async () => {
    const password = join(folder, 'password');
    await writeFile(password, `${PASSWORD}\n`);
    const settings = {
      ESPALIER_HOME: folder,
      KAFKA_BROKERS: `127.0.0.1:${ports.login}`,
      KAFKA_SECURITY_PROTOCOL: 'SASL_SSL',
      KAFKA_SSL_CA_FILE: join(folder, 'ca.crt'),
      KAFKA_SASL_USERNAME: 'alice',
      KAFKA_SASL_PASSWORD_FILE: password,
      ESPALIER_KAFKA_PREFIX: `${fresh('prefix')}.`,
    };
    const stepsOf = async (changes: Partial<Record<keyof typeof settings, string>>) => {
      const findings = await diagnose(readConfig({ ...settings, ...changes }), []);
      return findings.filter(({ part }) => part === 'kafka').map(({ step, state, detail }) => [`${step} ${state}`, detail]);
    };
    const names = async (changes: Parameters<typeof stepsOf>[0]) => (await stepsOf(changes)).map(([name]) => name);
    const sound = await stepsOf({});
    expect(sound.map(([name]) => name)).toEqual(['reach ok', 'TLS ok', 'login ok', 'topics ok', 'group ok']);
    expect(sound[1]?.[1]).toMatch(/shows the certificate of broker, valid until .*, which expires in 1 days/);
    expect(sound[3]?.[1]).toMatch(/^none yet: the first start creates \S+\.runs, /);
    expect(await names({ KAFKA_BROKERS: '127.0.0.1:1' })).toEqual([
      'reach failed',
      'TLS skipped',
      'login skipped',
      'topics skipped',
      'group skipped',
    ]);
    expect(await names({ KAFKA_SSL_CA_FILE: join(folder, 'other.crt') })).toEqual([
      'reach ok',
      'TLS failed',
      'login skipped',
      'topics skipped',
      'group skipped',
    ]);
    const refused = await stepsOf({ KAFKA_SASL_USERNAME: 'bob' });
    expect(refused.map(([name]) => name)).toEqual(['reach ok', 'TLS ok', 'login failed', 'topics skipped', 'group skipped']);
    expect(refused[2]?.[1]).toMatch(/the login is not accepted/);
    const forbidden = `${fresh('prefix')}.`;
    await forbidGroup(`${forbidden}projections`);
    const withoutGroup = await stepsOf({ ESPALIER_KAFKA_PREFIX: forbidden });
    expect(withoutGroup.map(([name]) => name)).toEqual(['reach ok', 'TLS ok', 'login ok', 'topics ok', 'group failed']);
    expect(withoutGroup[4]?.[1]).toMatch(/projections: the rights of this user are missing/);
  });

  test('a consumer group that this user may not read as is refused at the start', async () => {
    const [topic, group] = [fresh('topic'), fresh('group')];
    await forbidGroup(group);
    const log = await openKafkaLog({
      brokers: [`127.0.0.1:${ports.login}`],
      clientId: 'secured',
      security: { tls: { ca: pem.ca, client: null }, login: scram },
    });
    try {
      await log.ensureTopics([topic], 1);
      const { finished } = await log.subscribe({ group, topics: [topic], handle: async ({ next }) => ({ kind: 'done', next }) });
      await expect(finished).rejects.toMatchObject({
        code: 'refused',
        message: expect.stringMatching(new RegExp(`group ${group} .*the rights of this user are missing`)),
      });
    } finally {
      await log.close();
    }
  });

  test('a client that speaks in the clear to a port of TLS learns that nobody answers it', async () => {
    await expect(opened(ports.login, undefined)).rejects.toMatchObject({ code: 'unreachable' });
  });
});

/** A token as the validator of Kafka that checks no signature takes it. */
function unsignedToken(subject: string): string {
  const now = Math.floor(Date.now() / 1_000);
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none' })}.${part({ sub: subject, iat: now, exp: now + 600 })}.`;
}
