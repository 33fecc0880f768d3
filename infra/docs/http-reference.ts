import { apiRoutes } from '../../src/http/api-routes.ts';
import { createApp } from '../../src/http/app.ts';
import type { Route } from '../../src/http/endpoint.ts';
import { policyRoutes } from '../../src/http/policy/policy-routes.ts';
import { DEFAULT_LIMITS } from '../../src/runtime/config.ts';
import { createMetrics } from '../../src/runtime/metrics.ts';
import { cell, codeCell, type Schema, shape, tableOf } from './schema-table.ts';

interface Content {
  readonly [mediaType: string]: { readonly schema: Schema };
}
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}
interface Operation {
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly { readonly key: readonly string[] }[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<
    Record<
      string,
      { readonly description: string; readonly content?: Content; readonly headers?: Readonly<Record<string, Schema>> }
    >
  >;
}
/** An OpenAPI document as far as the page reads it. */
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** What every path answers; the page says it once. */
const EVERYWHERE = ['401', '403', 'default'];

/** Returns the page of every endpoint, from the documents that the servers show at `/openapi.json`. */
export async function httpReference(): Promise<string> {
  const api = await documentOf(apiRoutes(API));
  const policy = await documentOf(policyRoutes(NOTHING, () => 0));
  const everywhere = api.paths['/healthz']?.get?.responses ?? {};
  return [
    '# HTTP\n',
    'A running server describes itself at `/openapi.json` (OpenAPI 3.1), with the schema of every event.\n',
    '## Every path\n',
    'Off loopback every request needs an API key: `Authorization: Bearer KEY`, of the scope that is named or `admin`. A refusal of the server has this body:\n',
    tableOf(api.components.schemas.Refusal ?? {}),
    `| answer | |\n|---|---|\n${EVERYWHERE.map((status) => `| ${status} | ${cell(everywhere[status]?.description ?? '')} |`).join('\n')}\n`,
    ...sections(api, Object.keys(api.paths)),
    '## Policy server\n',
    '`espalier serve policy` serves a policy in the form of a model server, at a port of its own, with `/openapi.json` too.\n',
    ...sections(
      policy,
      Object.keys(policy.paths).filter((path) => !(path in api.paths)),
    ),
  ].join('\n');
}

/** Stands for what endpoints use when they are called; the page calls none. */
const NOTHING = new Proxy({} as never, {
  get(_, name) {
    throw new Error(`an endpoint used ${String(name)} while it was described`);
  },
});
const METRICS = createMetrics();
const API = {
  studio: { page: '', frame: '', asset: async () => undefined },
  db: NOTHING,
  log: NOTHING,
  blobs: NOTHING,
  metrics: METRICS,
  limits: DEFAULT_LIMITS,
  queries: () => undefined,
  training: { service: NOTHING, declare: NOTHING },
  proxy: { capture: NOTHING, upstream: null, whenUnrecorded: 'fail' as const, paths: [] },
};

async function documentOf(routes: readonly Route[]): Promise<Document> {
  const auth = { keys: 'optional', verify: async () => undefined } as const;
  const app = await createApp({ routes, auth, metrics: METRICS });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  try {
    const answer = await fetch(`${url}/openapi.json`);
    return (await answer.json()) as Document; // as src/http/openapi.ts makes it
  } finally {
    await app.close();
  }
}

function sections({ paths }: Document, shown: readonly string[]): readonly string[] {
  return shown.flatMap((path) =>
    Object.entries(paths[path] ?? {}).map(([method, operation]) => section(`${method.toUpperCase()} ${path}`, operation)),
  );
}

function section(name: string, { summary, description, security, parameters = [], requestBody, responses }: Operation): string {
  const scopes = security.flatMap(({ key }) => key).filter((scope) => scope !== 'admin');
  return [
    `### ${name.replace(/[{}]/g, '\\$&')}\n`,
    [
      summary,
      description ?? '',
      `Scope: ${scopes.length === 0 ? 'any key' : scopes.map((scope) => `\`${scope}\``).join(' or ')}.`,
    ]
      .filter((text) => text !== '')
      .join(' '),
    '',
    ...(parameters.length === 0 ? [] : [parameterTable(parameters)]),
    ...(requestBody ? [...contents('Body', requestBody.content)] : []),
    `| answer | body | |\n|---|---|---|\n${Object.entries(responses).flatMap(answerRow).join('\n')}\n`,
    ...Object.entries(responses['200']?.content ?? {}).flatMap(([type, { schema }]) =>
      schema.properties ? [`Fields of the answer, \`${type}\`:\n`, tableOf(schema)] : [],
    ),
  ].join('\n');
}

function parameterTable(parameters: readonly Parameter[]): string {
  const rows = parameters.map(({ name, in: place, required, description = '', schema }) =>
    [`\`${name}\`${required ? '' : ' (optional)'}`, place, codeCell(shape(schema)), cell(description)].join(' | '),
  );
  return `| parameter | in | type | |\n|---|---|---|---|\n${rows.map((row) => `| ${row} |`).join('\n')}\n`;
}

function contents(what: string, content: Content): readonly string[] {
  return Object.entries(content).flatMap(([type, { schema }]) =>
    schema.properties
      ? [`${what}, \`${type}\`:\n`, tableOf(schema)]
      : [`${what}, \`${type}\`: ${cell(schema.description ?? shape(schema))}\n`],
  );
}

function answerRow([status, { description, content = {}, headers = {} }]: [
  string,
  Operation['responses'][string],
]): readonly string[] {
  if (EVERYWHERE.includes(status)) return [];
  const bodies = Object.entries(content).map(([type, { schema }]) =>
    codeCell(schema.properties ? type : `${type}: ${shape(schema)}`),
  );
  const named = Object.entries(headers).map(([name, header]) => ` \`${name}\`: ${header.description ?? ''}`);
  return [`| ${status} | ${[...new Set(bodies)].join(', ')} | ${cell(description + named.join(''))} |`];
}
