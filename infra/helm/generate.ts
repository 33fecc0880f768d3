import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { ROLES } from '../../src/app/roles.ts';
import { type ChartValues, readValues, valuesSchema } from './values.ts';

const SCHEMA = new URL('espalier/values.schema.json', import.meta.url);
const ROLES_TEMPLATE = new URL('espalier/templates/_roles.tpl', import.meta.url);
const COMPOSE = new URL('../compose.yaml', import.meta.url);

/** Returns what is made of the list of roles and the values of the chart, by file. */
export async function generated(): Promise<ReadonlyMap<string, string>> {
  const compose = await readFile(COMPOSE, 'utf8');
  return new Map([
    [fileURLToPath(SCHEMA), `${JSON.stringify(valuesSchema(), null, 2)}\n`],
    [fileURLToPath(ROLES_TEMPLATE), rolesTemplate()],
    [fileURLToPath(COMPOSE), withRoles(compose, readValues())],
  ]);
}

/** Returns the template that tells the chart which roles clients send requests to. */
function rolesTemplate(): string {
  const reached = Object.entries(ROLES).flatMap(([name, { reached }]) => (reached ? [name] : []));
  return `{{/* Written by \`npm run codegen:helm\` from src/app/roles.ts. */}}\n{{- define "espalier.reachedRoles" -}}\n${JSON.stringify(reached)}\n{{- end -}}\n`;
}

const CLOSE_SECONDS = 15; // a process has 10 to close

/** Replaces the worker and the services of the roles in a compose file, and leaves the servers as they are. */
function withRoles(compose: string, { ports, drainSeconds, host }: ChartValues): string {
  const alive = `fetch('http://127.0.0.1:${ports.probes}/readyz').then((reply) => process.exit(reply.ok ? 0 : 1), () => process.exit(1))`;
  const worker = {
    image: 'espalier',
    build: { context: '..', dockerfile: 'infra/Dockerfile' },
    init: true,
    read_only: true,
    tmpfs: ['/tmp'],
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
    stop_grace_period: `${drainSeconds + CLOSE_SECONDS}s`,
    restart: 'unless-stopped',
    volumes: ['blobs:/data'],
    depends_on: { kafka: { condition: 'service_healthy' }, postgres: { condition: 'service_healthy' } },
    healthcheck: { test: ['CMD', 'node', '-e', alive], interval: '5s', timeout: '5s', retries: 20 },
  };
  const environment = {
    DATABASE_URL: `postgres://espalier:${ofShell('ESPALIER_DB_PASSWORD', 'espalier')}@postgres:5432/espalier`,
    KAFKA_BROKERS: 'kafka:19092',
    ESPALIER_HOST: host,
    ESPALIER_PROBE_PORT: String(ports.probes),
  };
  const reachedEnvironment = {
    ESPALIER_PORT: String(ports.http),
    ESPALIER_DRAIN_MS: String(drainSeconds * 1_000),
    ESPALIER_FIRST_KEY_HASH: ofShell('ESPALIER_FIRST_KEY_HASH', ''),
  };
  const services = Object.entries(ROLES).map(([name, { reached }]) => {
    const command = `    command: [serve, ${name}]`;
    if (!reached) return `  ${name}:\n    <<: *worker\n${command}`;
    const own = yaml({ ports: [`127.0.0.1:${ports.http}:${ports.http}`] }, 4);
    return `  ${name}:\n    <<: *worker\n${command}\n    environment:\n      <<: *environment\n${yaml(reachedEnvironment, 6)}\n${own}`;
  });
  const anchor = `x-worker: &worker\n${yaml(worker, 2)}\n  environment: &environment\n${yaml(environment, 4)}`;
  return between(between(compose, 'worker', anchor), 'roles', services.join('\n\n'));
}

/** What compose reads of the environment in which it is started. */
function ofShell(variable: string, otherwise: string): string {
  return `\${${variable}:-${otherwise}}`;
}

/** Replaces what is between the comments that begin and end a part. @throws Error where they are missing. */
function between(text: string, part: string, lines: string): string {
  const pattern = new RegExp(`^( *# generated: ${part}.*\\n)[\\s\\S]*?^( *# end of ${part}\\n)`, 'm');
  if (!pattern.test(text)) throw new Error(`infra/compose.yaml has no part ${part}`);
  return text.replace(pattern, (_, head: string, end: string) => `${head}${lines}\n${end}`);
}

function yaml(value: object, indent: number): string {
  const lines = stringify(value, { lineWidth: 0 }).trimEnd().split('\n');
  return lines.map((line) => ' '.repeat(indent) + line).join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const [file, contents] of await generated()) {
    if (!process.argv.includes('--check')) await writeFile(file, contents);
    else if ((await readFile(file, 'utf8')) !== contents) {
      process.stderr.write(`${file} is not what is generated; run \`npm run codegen:helm\`\n`);
      process.exitCode = 1;
    }
  }
