import { createHash, randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openS3Objects } from '../blobs/s3-objects.ts';
import { createTestDatabase, type TestDatabase } from '../testing/database.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { kafkaForTests } from '../testing/kafka.ts';
import { describeWithKafka } from '../testing/kafka-describe.ts';
import { type S3Server, startS3Server } from '../testing/s3-server.ts';
import { until } from '../testing/until.ts';
import { type ChildProcess, killRunning, runInProcess, startRole } from '../testing/worker-process.ts';
import { ROLE_NAMES, ROLES } from './roles.ts';

const NOWHERE = '/proc/espalier'; // nobody can make it, not even root
const LARGE = 100_000;
const key = `espalier_${randomBytes(32).toString('base64url')}`;

describeWithKafka('an installation whose log, database and objects are elsewhere', () => {
  let [server, database, env]: [S3Server, TestDatabase, Readonly<Record<string, string>>] = [] as never;
  let world: Awaited<ReturnType<S3Server['makeBucket']>>;
  let url = '';
  beforeAll(async () => {
    server = await startS3Server();
    world = await server.makeBucket('installation');
    database = await createTestDatabase();
    env = {
      ...world.env,
      DATABASE_URL: database.url,
      KAFKA_BROKERS: (await kafkaForTests()).brokers.join(','),
      ESPALIER_KAFKA_PREFIX: `${database.name}.`,
      ESPALIER_PARTITIONS: '4',
      ESPALIER_HOME: NOWHERE,
      HOME: NOWHERE,
      ESPALIER_HOST: '0.0.0.0',
      ESPALIER_PORT: '0',
      ESPALIER_OBJECTS_REDIRECT: 'on',
      ESPALIER_FIRST_KEY_HASH: createHash('sha256').update(key).digest('hex'),
    };
    const roles = new Map<string, ChildProcess>(ROLE_NAMES.map((name) => [name, startRole(name, env)]));
    for (const name of ROLE_NAMES) await roles.get(name)?.saying(new RegExp(`"message":"${ROLES[name].ready}"`));
    const port = (await roles.get('api')?.saying(/"url":"http:\/\/0\.0\.0\.0:(\d+)"/))?.[1];
    url = `http://127.0.0.1:${port}`;
  }, 1_700_000);
  afterAll(async () => {
    await killRunning();
    await server?.close();
    await database?.drop();
    await rm(join(tmpdir(), `espalier-exports-${process.getuid?.()}`), { recursive: true, force: true });
  });

  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  /** Ids of version 8 are the platform's own; a client draws its own of version 4. */
  const asOfClient = (text: string) => text.replace(/\b([0-9a-f]{8}-[0-9a-f]{4}-)8(?=[0-9a-f]{3}-)/g, '$14');
  const post = (events: readonly unknown[]) =>
    fetch(`${url}/v1/events`, { method: 'POST', headers, body: asOfClient(JSON.stringify(events)) });
  const stored = async () => {
    const objects = await openS3Objects(world.bucket);
    let names: string[] = [];
    for (let i = 0; i < 256; i++)
      for await (const { name } of objects.list(`${i.toString(16).padStart(2, '0')}/`)) names = [...names, name];
    objects.close();
    return names;
  };

  test('payloads are recorded through outages of the bucket without a home folder, and every acknowledged one is exported', async () => {
    const builder = new EventBuilder('bucket');
    const runId = builder.run('through outages');
    const tree = builder.tree(runId, 'a');
    const rollout = builder.rollout(tree);
    expect((await post(builder.events)).status).toBe(200);
    let parent = tree.rootStepId;
    let refused = 0;
    const steps = 24;
    for (let depth = 1; depth <= steps; depth++) {
      const before = builder.events.length;
      const observation = `${depth} `.repeat(LARGE / 2);
      parent = builder.step(tree, rollout, parent, depth, { observation, termination: depth === steps ? 'terminated' : 'none' });
      const events = builder.events.slice(before);
      if (depth % 8 === 4) await server.stop();
      let misses = 0;
      await until(async () => {
        const reply = await post(events);
        if (reply.status === 200) return true;
        expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '2']);
        refused++;
        if (++misses === 2) await server.start();
        return false;
      });
    }
    expect(refused).toBe(6); // two of each outage
    const end = builder.events.length;
    builder.finishRollout(tree, rollout, parent, { steps });
    expect((await post(builder.events.slice(end))).status).toBe(200);
    expect(await stored()).toHaveLength(steps);

    const ask = (more: RequestInit = {}) =>
      fetch(`${url}/v1/exports?format=jsonl&run=${asOfClient(runId)}&scope=trees`, { headers, ...more });
    let file = '';
    await until(async () => {
      const reply = await ask();
      expect(reply.status).not.toBe(400);
      file = reply.status === 200 ? await reply.text() : '';
      return file !== '';
    });
    for (let depth = 1; depth <= steps; depth++) expect(file).toContain(`${depth} `.repeat(LARGE / 2));

    const verified = await runInProcess(['verify', '--json'], env);
    expect([verified.code, verified.code === 0 ? '' : verified.stderr]).toEqual([0, '']);
    expect(JSON.parse(verified.stdout)).toMatchObject({ faulty: 0, blobs: steps });
    const collected = await runInProcess(['blobs', 'collect', '--dry-run', '--json'], env);
    expect(JSON.parse(collected.stdout)).toMatchObject({ young: steps, unreferenced: { blobs: 0 } });
  });
});
