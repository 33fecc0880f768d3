import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { ROLES, type RoleName } from '../../src/app/roles.ts';
import { SECRET, VARIABLE_NAMES, VARIABLES } from '../../src/runtime/config.ts';
import { collectPlan } from '../../src/usecases/collect/plan.ts';

/** Settings that the chart makes of its own values, and those of one machine. */
const MANAGED: ReadonlySet<string> = new Set([
  ...['ESPALIER_HOME', 'ESPALIER_BLOBS', 'ESPALIER_HOST', 'ESPALIER_PORT', 'ESPALIER_PROBE_PORT', 'ESPALIER_DRAIN_MS'],
  ...['KAFKA_BROKERS', 'KAFKA_SECURITY_PROTOCOL', 'KAFKA_SASL_MECHANISM', 'KAFKA_SASL_USERNAME'],
  ...['KAFKA_SSL_CA_FILE', 'KAFKA_SSL_CERT_FILE', 'KAFKA_SSL_KEY_FILE', 'ESPALIER_MASTER_KEY_FILE'],
  ...['ESPALIER_POSTGRES', 'ESPALIER_CONSUMERS_PYTHON', 'ESPALIER_ADAPTERS_PYTHON', 'NO_COLOR'],
]);

const text = z.string();
const label = (most: number) => z.string().regex(new RegExp(`^[a-z0-9]([-a-z0-9]{0,${most - 2}}[a-z0-9])?$`)); // names of Jobs and their Services end at 63
const secretKey = z.string().regex(/^[-._a-zA-Z0-9]*$/);
const count = z.int().min(0).max(10_000);
const port = z.int().min(1024).max(65_535); // no process may listen below
const anything = z.record(text, z.unknown());
const list = z.array(anything);
const labels = z.record(text, text);
const image = z.strictObject({
  repository: text.min(1),
  tag: text,
  digest: z.string().regex(/^(sha256:[0-9a-f]{64})?$/),
  pullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']),
});
const volume = z.strictObject({
  claim: text,
  size: z.string().regex(/^(\d+(\.\d+)?(Ki|Mi|Gi|Ti|Pi)?)?$/),
  class: text,
  accessModes: z.array(z.enum(['ReadWriteOnce', 'ReadWriteMany', 'ReadWriteOncePod'])).min(1),
});
const placement = { resources: anything, nodeSelector: labels, tolerations: list, affinity: anything };
const role = z
  .strictObject({ replicas: count, ...placement, env: list })
  .partial()
  .required({ replicas: true, resources: true });
const schedule = z.strictObject({ enabled: z.boolean(), schedule: text.min(1), resources: anything });
const job = { name: label(18), env: list.optional(), backoffLimit: count.optional() };
const placed = z.strictObject(placement).partial().shape;
const trainer = z.strictObject({
  ...job,
  ...placed,
  /** Of a training that is declared: `espalier serve train` on one node. */
  policy: text.min(1).optional(),
  gpus: count,
  nodes: z.int().min(1).max(1_000).optional(),
  /** What the nodes run instead: a program that trains by the Python client, such as `torchrun /etc/espalier/train.py`. */
  command: z.array(text).min(1).optional(),
  files: labels.optional(),
  image: text.min(1).optional(),
});
const settings = z
  .strictObject(
    Object.fromEntries(
      VARIABLE_NAMES.filter((name) => !MANAGED.has(name) && !SECRET.has(name)).map((name) => [
        name,
        z.string().describe(`${VARIABLES[name].about}; default: ${VARIABLES[name].unset}`),
      ]),
    ),
  )
  .partial();
const roles = Object.fromEntries(Object.keys(ROLES).map((name) => [name, role])) as Record<RoleName, typeof role>; // of its keys

/** The values of the chart. A name that it does not have is refused, by helm too. */
export const chartValues = z.strictObject({
  global: anything.optional(), // helm's own
  nameOverride: label(20).optional(),
  fullnameOverride: label(20).optional(),
  image,
  trainerImage: image,
  imagePullSecrets: z.array(text.min(1)),
  database: z.strictObject({
    secret: text,
    urlKey: secretKey.min(1),
    directUrlKey: secretKey,
    replicaUrlKey: secretKey,
    caKey: secretKey,
  }),
  kafka: z.strictObject({
    brokers: z.string().regex(/^([^\s:/,]+:\d{1,5}(,[^\s:/,]+:\d{1,5})*)?$/),
    protocol: z.enum(['PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL']),
    mechanism: z.enum(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER']),
    username: text,
    secret: text,
    passwordKey: secretKey,
    caKey: secretKey,
    certificateKey: secretKey,
    privateKeyKey: secretKey,
  }),
  firstKey: z.strictObject({ secret: text, hashKey: secretKey.min(1) }),
  masterKey: z.strictObject({ secret: text, key: secretKey.min(1) }),
  namedSecrets: z.strictObject({ secret: text }),
  openTelemetry: z.strictObject({ secret: text, headersKey: secretKey.min(1) }),
  client: z.strictObject({ secret: text, keyKey: secretKey.min(1) }),
  settings,
  env: list,
  storage: z.strictObject({ blobs: volume, home: volume }),
  host: text.min(1),
  ports: z.strictObject({ http: port, probes: port }),
  drainSeconds: z.int().min(0).max(600),
  paused: z.boolean(),
  roles: z.strictObject(roles),
  autoscaling: z.strictObject({
    enabled: z.boolean(),
    minReplicas: z.int().min(1),
    maxReplicas: z.int().min(1).max(1_000),
    metric: text.min(1),
    selector: labels,
    recordsPerProjector: z.int().min(1),
  }),
  ingress: z.strictObject({ enabled: z.boolean(), className: text, host: text, tlsSecret: text, annotations: labels }),
  service: z.strictObject({ type: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer']), annotations: labels }),
  migrate: z.strictObject({ resources: anything, deadlineSeconds: z.int().min(1) }),
  maintenance: z.strictObject({ blobs: schedule, retention: schedule }),
  collectors: z.array(
    z.strictObject({
      ...job,
      ...placed,
      plan: z.strictObject({ runId: z.uuid(), name: text.min(1), seed: z.int(), plan: collectPlan }),
    }),
  ),
  experiments: z.array(z.strictObject({ ...job, ...placed, declaration: anything })),
  trainers: z.array(trainer),
  pods: z.strictObject({
    annotations: labels,
    labels,
    nodeSelector: labels,
    tolerations: list,
    affinity: anything,
    priorityClassName: text,
    securityContext: anything,
  }),
  serviceAccount: z.strictObject({ annotations: labels }),
  networkPolicy: z.strictObject({ enabled: z.boolean(), clients: list, monitoring: list, egress: list }),
});
export type ChartValues = z.infer<typeof chartValues>;

/** Returns the schema by which helm checks values. */
export function valuesSchema(): object {
  return z.toJSONSchema(chartValues, { target: 'draft-7', io: 'input' });
}

/** Reads the values that the chart has of its own. @throws ZodError that names a wrong one. */
export function readValues(): ChartValues {
  return chartValues.parse(parse(readFileSync(new URL('espalier/values.yaml', import.meta.url), 'utf8')));
}
