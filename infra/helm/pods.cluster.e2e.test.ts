import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ROLE_NAMES } from '../../src/app/roles.ts';
import type { Platform } from '../../src/platform/open-platform.ts';
import { environmentOf } from '../../src/testing/crashing-run.ts';
import { kafkaForTests } from '../../src/testing/kafka.ts';
import { describeWithKafka } from '../../src/testing/kafka-describe.ts';
import { openTestPlatform } from '../../src/testing/open-test-platform.ts';
import { until } from '../../src/testing/until.ts';
import { type ChildProcess, killRunning, startProcess } from '../../src/testing/worker-process.ts';
import { EXAMPLE, type Manifest, manifestsOf, render } from './render.ts';

const BUILD_MS = 1_500_000;

interface PodSpec {
  readonly terminationGracePeriodSeconds: number;
  readonly containers: readonly [
    { readonly args: readonly string[]; readonly env: readonly { readonly name: string; readonly value: string }[] },
  ];
}

describeWithKafka('the pods of the chart', () => {
  let platform: Platform & { readonly home: string };
  let root: string;
  beforeEach(async () => {
    platform = await openTestPlatform((await kafkaForTests()).brokers);
    root = await mkdtemp(join(tmpdir(), 'espalier-pods-'));
  });
  afterEach(async () => {
    await killRunning();
    await platform.close();
    await rm(root, { recursive: true });
  });

  /** Makes the files of a mounted secret as kubelet does: links into a folder. */
  async function mount(secret: string, file: string, text: string): Promise<void> {
    const folder = join(root, 'run/espalier', secret);
    await mkdir(join(folder, '..data'), { recursive: true });
    await writeFile(join(folder, '..data', file), text, { mode: 0o440 });
    await symlink(join('..data', file), join(folder, file));
  }

  test(
    'migrate, serve and collect by the words, variables and files that they get, and end within their grace period',
    async () => {
      const { DATABASE_URL = '', KAFKA_BROKERS = '', ESPALIER_HOME: _, ESPALIER_PORT: __, ...settings } = environmentOf(platform);
      const key = `espalier_${randomBytes(32).toString('base64url')}`;
      await mount('database', 'url', DATABASE_URL);
      await mount('first-key', 'hash', createHash('sha256').update(key).digest('hex'));
      for (const folder of ['data', 'blobs', 'etc/espalier']) await mkdir(join(root, folder), { recursive: true });
      const values = join(root, 'values.yaml');
      const own = {
        database: { secret: 'd', directUrlKey: '', replicaUrlKey: '', caKey: '' },
        kafka: { brokers: KAFKA_BROKERS, protocol: 'PLAINTEXT' },
        masterKey: { secret: '' },
        openTelemetry: { secret: '' },
        settings: { ...settings, ESPALIER_KAFKA_REPLICATION: '1', ESPALIER_KAFKA_MIN_INSYNC: '1', OTEL_TRACES_EXPORTER: 'none' },
        env: [],
        ingress: { enabled: false },
        drainSeconds: 1,
      };
      await writeFile(values, JSON.stringify(own));
      const manifests = manifestsOf(await render('--values', EXAMPLE, '--values', values));
      const specOf = (kind: string, name: RegExp) => {
        const manifest = manifests.find((each) => each.kind === kind && name.test(each.metadata.name));
        const template = manifest?.spec?.template as { readonly spec: PodSpec } | undefined; // of a Deployment or a Job
        if (template === undefined) throw new Error(`the chart has no ${kind} ${name}`);
        return template.spec;
      };
      const start = ({ containers: [{ args, env }] }: PodSpec): ChildProcess => {
        const here = (path: string) => path.replace(/^\/(?=run\/|data|blobs|etc\/)/, `${root}/`);
        const variables = Object.fromEntries(env.map(({ name, value }) => [name, here(value)]));
        const ports = { ESPALIER_PROBE_PORT: '0', ...('ESPALIER_PORT' in variables ? { ESPALIER_PORT: '0' } : {}) }; // pods have addresses of their own
        return startProcess('src/cli/main.ts', args.map(here), { ...variables, ...ports });
      };

      const migrate = start(specOf('Job', /-migrate$/));
      expect([await migrate.ended, migrate.stdout()]).toEqual([0, expect.stringContaining('ready for this version')]);
      const pods = ROLE_NAMES.map((name) => ({ name, spec: specOf('Deployment', new RegExp(`-${name}$`)) }));
      const running = pods.map(({ spec, name }) => ({ name, spec, child: start(spec) }));
      for (const { child } of running) {
        const port = (await child.saying(/"message":"probes".*"port":(\d+)/))[1];
        await until(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok);
      }
      const url = (await running.find(({ name }) => name === 'api')?.child.saying(/"url":"http:\/\/0\.0\.0\.0:(\d+)"/))?.[1];
      const reply = await fetch(`http://127.0.0.1:${url}/v1/key`, { headers: { authorization: `Bearer ${key}` } });
      expect(await reply.json()).toMatchObject({ name: 'preset' });

      const plan = manifests.find(
        ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.includes('-collect-'),
      ) as Manifest & {
        readonly data: Readonly<Record<string, string>>;
      };
      await writeFile(join(root, 'etc/espalier/plan.json'), plan.data['plan.json'] ?? '');
      const collector = start(specOf('Job', /-collect-/));
      await collector.saying(/"message":"collected".*"rollouts":8/);
      expect(await collector.ended).toBe(0);

      for (const { child } of running) child.kill('SIGTERM');
      for (const { child, spec } of running) expect(await child.endedWithin(spec.terminationGracePeriodSeconds * 1_000)).toBe(0);
    },
    BUILD_MS,
  );
});
