import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type RunningKafka, startKafka } from '../../infra/kafka/start-kafka.ts';
import { diagnose } from '../platform/diagnose.ts';
import { openPlatform } from '../platform/open-platform.ts';
import { readConfig } from '../runtime/config.ts';
import { createTestDatabase } from '../testing/database.ts';
import { describeWithKafka } from '../testing/kafka-describe.ts';
import { fresh, record } from './contract/fixture.ts';
import { openKafkaLog } from './kafka-log.ts';

const BROKERS = 3;
const STARTS = 100;

describeWithKafka('a cluster of three brokers', () => {
  let folder = '';
  const cluster: RunningKafka[] = [];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'espalier-cluster-'));
    const first = await startKafka({ folder: join(folder, '1') });
    cluster.push(first);
    const [clusterId, voters] = await Promise.all([
      settingOf(join(first.folder, 'data', 'meta.properties'), 'cluster.id'),
      settingOf(join(first.folder, 'server.properties'), 'controller.quorum.voters'),
    ]);
    for (let node = 2; node <= BROKERS; node++) cluster.push(await joining(node, clusterId, voters));
  });
  afterAll(async () => {
    for (const broker of cluster.reverse()) await broker.kill();
    await rm(folder, { recursive: true, force: true });
  });

  /** Starts one more broker of the cluster, which the first one controls. */
  async function joining(node: number, clusterId: string, voters: string): Promise<RunningKafka> {
    const data = join(folder, `${node}`, 'data');
    await mkdir(data, { recursive: true });
    const directory = randomBytes(16).toString('base64url').replace(/^-/, '_');
    const meta = { version: 1, 'cluster.id': clusterId, 'node.id': node, 'directory.id': directory };
    await writeFile(
      join(data, 'meta.properties'),
      Object.entries(meta)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    );
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    const listeners = `PLAINTEXT://127.0.0.1:${port}`;
    const settings = { 'process.roles': 'broker', 'node.id': node, 'controller.quorum.voters': voters, listeners };
    return startKafka({ folder: join(folder, `${node}`), port, settings });
  }

  test('a hundred starts of the platform end well, and each names the topics that have one copy', async () => {
    const brokers = cluster.flatMap((broker) => broker.brokers);
    const database = await createTestDatabase();
    const home = join(folder, 'home');
    const settings = {
      ESPALIER_HOME: home,
      DATABASE_URL: database.url,
      ESPALIER_PARTITIONS: '4',
      KAFKA_BROKERS: brokers.join(','),
    };
    const start = async (more: Readonly<Record<string, string>>) => {
      const { notes, close } = await openPlatform(readConfig({ ...settings, ...more }), 'start');
      await close();
      return notes;
    };
    try {
      expect(await start({ ESPALIER_KAFKA_REPLICATION: '1' })).toEqual([]);
      const one = [expect.stringMatching(/^topics have fewer than 3 copies in a cluster of 3 brokers.*runs \(1\)/)];
      for (let begun = 0; begun < STARTS; begun++) expect(await start({})).toEqual(one);
      await expect(start({ ESPALIER_KAFKA_REPLICATION: '3' })).rejects.toThrow('has 1 of the 3 copies that are configured');
      const findings = await diagnose(readConfig(settings), []);
      expect(findings.find(({ step }) => step === 'topics')).toMatchObject({ state: 'warned', detail: one[0] });
    } finally {
      await database.drop();
    }
  });

  test('a hundred starts at which everything is asked at once end well', async () => {
    const brokers = cluster.flatMap((broker) => broker.brokers);
    const topics = Array.from({ length: 6 }, () => fresh('topic'));
    for (let start = 0; start < STARTS; start++) {
      const log = await openKafkaLog({ brokers, clientId: `start ${start}` });
      try {
        await log.ensureTopics(topics, 4);
        const [, ends, extents, receipts] = await Promise.all([
          log.identity(),
          log.ends(topics),
          log.extents(topics),
          log.append(topics.map((topic) => record(topic, 'k'))),
          log.unread('nobody', topics),
        ]);
        expect([...ends.keys()].sort()).toEqual([...topics].sort());
        expect([...extents.keys()].sort()).toEqual([...topics].sort());
        expect(receipts).toHaveLength(topics.length);
      } finally {
        await log.close();
      }
    }
    expect(cluster).toHaveLength(BROKERS);
  });
});

async function settingOf(file: string, name: string): Promise<string> {
  const value = new RegExp(`^${name.replaceAll('.', '\\.')}=(.*)$`, 'm').exec(await readFile(file, 'utf8'))?.[1];
  if (value === undefined) throw new Error(`${file} has no ${name}`);
  return value;
}
