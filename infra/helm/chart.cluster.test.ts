import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { ROLE_NAMES, ROLES } from '../../src/app/roles.ts';
import { CHART, EXAMPLE, helm, type Manifest, manifestsOf, render } from './render.ts';
import { helmProgram, KUBERNETES, schemasPython } from './tools.ts';
import { readValues } from './values.ts';

const run = promisify(execFile);
const BUILD_MS = 1_500_000;
const LEAST = ['--set', 'database.secret=db'];
beforeAll(async () => {
  await helmProgram();
  await schemasPython();
}, BUILD_MS);

interface Container {
  readonly name: string;
  readonly args?: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly readinessProbe?: { readonly httpGet: object };
  readonly livenessProbe?: { readonly httpGet: object };
  readonly resources: { readonly limits?: Readonly<Record<string, string>> };
}
interface Pod {
  readonly spec: {
    readonly containers: readonly [Container];
    readonly volumes: readonly { readonly name: string; readonly secret?: { readonly defaultMode: number } }[];
    readonly securityContext: Readonly<Record<string, unknown>>;
    readonly automountServiceAccountToken: boolean;
    readonly enableServiceLinks: boolean;
    readonly terminationGracePeriodSeconds?: number;
  };
}

/** Returns the templates of pods in an object, however deep they are. */
function podsOf(value: unknown): readonly Pod[] {
  if (typeof value !== 'object' || value === null) return [];
  if ('spec' in value && typeof value.spec === 'object' && value.spec !== null && 'containers' in value.spec)
    return [value as Pod]; // by its form
  return Object.values(value).flatMap(podsOf);
}

/** Checks objects against the schemas of Kubernetes, which refuse unknown fields. @returns what they refuse. */
async function refusals(manifests: readonly unknown[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'espalier-chart-'));
  try {
    const file = join(folder, 'objects.json');
    await writeFile(file, JSON.stringify(manifests));
    const program = `
import json, sys, kubernetes_validate
for each in json.load(open(sys.argv[1])):
    try:
        kubernetes_validate.validate(each, "${KUBERNETES}", strict=True)
    except Exception as error:
        print(each["kind"], each["metadata"].get("name"), getattr(error, "message", error), list(getattr(error, "path", [])))
`;
    return (await run(await schemasPython(), ['-c', program, file], { maxBuffer: 1 << 26 })).stdout;
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe('the chart', () => {
  let all: readonly Manifest[];
  let least: readonly Manifest[];
  beforeAll(async () => {
    all = manifestsOf(await render('--values', EXAMPLE));
    least = manifestsOf(await render(...LEAST));
  });
  const deployment = (of: readonly Manifest[], role: string) =>
    of.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === `espalier-${role}`);
  const containerOf = (manifest: unknown) => podsOf(manifest)[0]?.spec.containers[0];
  const variables = (container: Container | undefined) =>
    Object.fromEntries(container?.env.map(({ name, value }) => [name, value]) ?? []);

  test('passes `helm lint`, with its own values and with those of the example', async () => {
    for (const flags of [LEAST, ['--values', EXAMPLE]])
      expect(await helm('lint', '--strict', CHART, ...flags)).toContain('1 chart(s) linted, 0 chart(s) failed');
  });

  test('makes of the example what rendered.yaml shows; `npx tsx infra/helm/render.ts > infra/helm/rendered.yaml` writes it', async () => {
    expect(await render('--values', EXAMPLE)).toBe(await readFile(new URL('rendered.yaml', import.meta.url), 'utf8'));
  });

  test('makes objects that the schemas of Kubernetes accept, fields that they do not know included', async () => {
    const known = (each: Manifest) => each.kind !== 'PyTorchJob'; // of an operator: its pods are checked alone
    const pods = all.filter((each) => !known(each)).flatMap(podsOf);
    expect(pods).toHaveLength(2);
    const alone = pods.map((pod) => ({ apiVersion: 'v1', kind: 'Pod', ...pod }));
    expect(await refusals([...all.filter(known), ...least, ...alone])).toBe('');
    const wrong = [{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'a' }, spec: { prots: [] } }];
    expect(await refusals(wrong)).toContain('prots');
  });

  test('has a Deployment, a budget of disruptions and probes for each role, and a Service for those that clients reach', () => {
    for (const of of [all, least])
      for (const name of ROLE_NAMES) {
        const container = containerOf(deployment(of, name));
        expect(container?.args).toEqual(['serve', name]);
        expect(container?.livenessProbe?.httpGet).toEqual({ path: '/healthz', port: 'probes' });
        expect(container?.readinessProbe?.httpGet).toEqual({ path: '/readyz', port: 'probes' });
        const ports = Object.fromEntries(container?.ports?.map((port) => [port.name, port.containerPort]) ?? []);
        expect(String(ports.probes)).toBe(variables(container).ESPALIER_PROBE_PORT);
        const kinds = of.filter(({ metadata }) => metadata.name === `espalier-${name}`).map(({ kind }) => kind);
        expect(kinds).toContain('PodDisruptionBudget');
        expect([kinds.includes('Service'), 'http' in ports]).toEqual([ROLES[name].reached, ROLES[name].reached]);
      }
  });

  test('gives a process longer to end than it drains and closes', () => {
    const { drainSeconds } = readValues();
    const seconds = (role: string) => podsOf(deployment(all, role))[0]?.spec.terminationGracePeriodSeconds;
    expect(variables(containerOf(deployment(all, 'api'))).ESPALIER_DRAIN_MS).toBe(String(drainSeconds * 1_000));
    expect([seconds('api'), seconds('project')]).toEqual([drainSeconds + 15, 15]); // to close takes at most 10 s
  });

  test('runs every pod without root, rights, a token, a writable root file system, or variables of services', () => {
    const pods = [...all, ...least].flatMap(podsOf);
    expect(pods.length).toBeGreaterThan(15);
    for (const { spec } of pods) {
      expect(spec).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true },
      });
      for (const { securityContext } of spec.containers)
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          runAsNonRoot: true,
          capabilities: { drop: ['ALL'] },
          seccompProfile: { type: 'RuntimeDefault' },
        });
    }
  });

  test('mounts secrets as files of mode 0440, and writes none into a manifest', () => {
    const api = podsOf(deployment(all, 'api'))[0];
    const secrets = api?.spec.volumes.filter(({ secret }) => secret !== undefined) ?? [];
    expect(secrets.map(({ name }) => name)).toEqual([
      'database',
      'kafka',
      'first-key',
      'master-key',
      'open-telemetry',
      'named-secrets',
    ]);
    for (const { secret } of secrets) expect(secret?.defaultMode).toBe(0o440);
    const mounted = api?.spec.containers[0].volumeMounts.map(({ mountPath }) => mountPath) ?? [];
    for (const [name, value = ''] of Object.entries(variables(api?.spec.containers[0])))
      if (name.endsWith('_FILE')) expect(mounted).toContain(value.replace(/\/[^/]+$/, ''));
    expect(all.filter(({ kind }) => kind === 'Secret')).toEqual([]);
  });

  test('migrates by a hook before anything of it is installed or changed, which needs nothing that is installed later', () => {
    const hooks = all.filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] === 'pre-install,pre-upgrade');
    expect(hooks.map(({ kind }) => kind)).toEqual(['ServiceAccount', 'Job']);
    expect(containerOf(hooks[1])?.args).toEqual(['migrate']);
    expect(JSON.stringify(podsOf(hooks[1])[0]?.spec.volumes)).not.toMatch(/persistentVolumeClaim|configMap/);
  });

  test('scales projectors by the lag that they export, within bounds, and leaves their number to that', () => {
    const scaler = all.find(({ kind }) => kind === 'HorizontalPodAutoscaler');
    expect(scaler?.spec).toMatchObject({
      scaleTargetRef: { kind: 'Deployment', name: 'espalier-project' },
      metrics: [{ type: 'External', external: { metric: { name: 'espalier_projection_lag_records' } } }],
    });
    expect([deployment(all, 'project')?.spec?.replicas, deployment(least, 'project')?.spec?.replicas]).toEqual([undefined, 2]);
  });

  test('paused, runs nothing: no pod, no job, no schedule', async () => {
    const paused = manifestsOf(await render('--values', EXAMPLE, '--set', 'paused=true'));
    for (const { spec } of paused.filter(({ kind }) => kind === 'Deployment')) expect(spec?.replicas).toBe(0);
    for (const { spec } of paused.filter(({ kind }) => kind === 'CronJob')) expect(spec?.suspend).toBe(true);
    const kinds = paused.filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] === undefined).map(({ kind }) => kind);
    expect(kinds).not.toEqual(expect.arrayContaining(['Job']));
    expect(kinds.filter((kind) => /Job$|Autoscaler/.test(kind))).toEqual(['CronJob', 'CronJob']);
  });

  test('names a job by what it runs, so that an upgrade replaces it', async () => {
    const jobs = (of: readonly Manifest[]) =>
      of.filter(({ kind, metadata }) => kind.endsWith('Job') && !metadata.annotations).map(({ metadata }) => metadata.name);
    const upgraded = manifestsOf(await render('--values', EXAMPLE, '--set-string', 'image.digest=,image.tag=2'));
    const names = jobs(all).filter((name) => /-(collect|experiment)-/.test(name));
    expect(names).toHaveLength(2);
    for (const name of names) {
      expect(name.length).toBeLessThanOrEqual(63);
      expect(jobs(upgraded)).not.toContain(name);
    }
    expect(jobs(manifestsOf(await render('--values', EXAMPLE)))).toEqual(jobs(all));
  });

  test('trains on one node by a Job of the image with torch, on several by a PyTorchJob of the program that is given', () => {
    const alone = containerOf(all.find(({ kind, metadata }) => kind === 'Job' && metadata.name.includes('-train-alone')));
    expect(alone).toMatchObject({ args: ['serve', 'train', 'agent', 'alone'], resources: { limits: { 'nvidia.com/gpu': '1' } } });
    const wide = all.find(({ kind }) => kind === 'PyTorchJob');
    expect(wide?.spec).toMatchObject({
      nprocPerNode: '8',
      pytorchReplicaSpecs: { Master: { replicas: 1 }, Worker: { replicas: 1 } },
    });
    expect(variables(containerOf(wide)).ESPALIER_URL).toBe('http://espalier-api:4000');
  });

  test.each([
    ['a role that does not exist', 'roles.projektor.replicas=1', 'projektor'],
    ['a value of another type', 'roles.api.replicas=two', 'roles/api/replicas'],
    ['a value outside its bounds', 'drainSeconds=-1', 'drainSeconds'],
    ['a setting that nothing reads', 'settings.ESPALIER_PROBE_PROT=1', 'ESPALIER_PROBE_PROT'],
    ['a secret in the clear', 'settings.KAFKA_SASL_PASSWORD=hidden', 'KAFKA_SASL_PASSWORD'],
    ['an address of a broker without a port', 'kafka.brokers=kafka', 'kafka/brokers'],
    ['no database', 'database.secret=', 'database.secret is required'],
    ['an ingress without a host', 'ingress.enabled=true', 'ingress.host is required'],
    ['no volume for payloads', 'storage.blobs.size=', 'storage.blobs needs a claim or a size'],
    [
      'what a trainer on one node ignores',
      'trainers[0].name=a,trainers[0].policy=p,trainers[0].gpus=1,trainers[0].command={run}',
      'a has command',
    ],
    ['a login without a user', 'kafka.brokers=a:1,kafka.protocol=SASL_SSL', 'kafka'],
  ])('refuses %s by its name', async (_, change, name) => {
    await expect(render(...LEAST, '--set', change)).rejects.toThrow(name);
  });
});
