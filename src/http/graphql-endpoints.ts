import { z } from 'zod';
import { readableTables, type TableName } from '../projections/tables/tables.ts';
import { exportQuery } from '../usecases/datasets/export-query.ts';
import { ARROW_STREAM, parseTableQuery, tableQueries } from '../usecases/datasets/tables/table-query.ts';
import type { Mount, NodeListener, Operation } from './endpoint.ts';
import { refusals } from './openapi.ts';
import { type Reply, refuse, wrongFields } from './reply.ts';

const NAMED = z.object({
  query: z.string().optional().describe('The document.'),
  documentId: z.string().optional().describe('Name or SHA-256 of an operation that the server ships, in place of `query`.'),
  operationName: z.string().nullish().describe('Which operation of the document, where it has several.'),
});
const asked = NAMED.extend({
  variables: z.record(z.string(), z.unknown()).nullish(),
  extensions: z.record(z.string(), z.unknown()).nullish(),
});
const inAddress = NAMED.extend({
  variables: z.string().optional().describe('A JSON object.'),
  extensions: z.string().optional().describe('A JSON object.'),
});

const result = z.object({
  data: z.record(z.string(), z.unknown()).nullish(),
  errors: z.array(z.looseObject({ message: z.string() })).optional(),
});
const NAMED_RESULT = { $ref: '#/components/schemas/GraphqlResult' };
const RESULT = { 'application/json': NAMED_RESULT, 'application/graphql-response+json': NAMED_RESULT };
const OPERATION: Operation = {
  summary: 'Queries and follows the record: runs, trees, steps, rewards. A browser shows a page to try queries.',
  description:
    'GraphQL over HTTP; the schema has documentation of its own. A subscription is asked for with `Accept: text/event-stream`, and its events are named `next` and `complete`.',
  headers: z.looseObject({
    accept: z
      .string()
      .optional()
      .describe('`application/json` unless given, `application/graphql-response+json`, or `text/event-stream`.'),
  }),
  answers: {
    200: { description: 'Data, errors or both.', content: { ...RESULT, 'text/event-stream': { type: 'string' } } },
    400: { description: 'The operation is not read or not valid, or over a limit.', content: RESULT },
    406: { description: 'The answer comes in none of the types of Accept.', content: RESULT },
    415: { description: 'Another Content-Type.', content: RESULT },
    ...refusals({
      411: 'The body has no Content-Length.',
      413: 'The body is over 1 MiB.',
    }),
  },
  components: () => ({ GraphqlResult: result }),
};

/** Mounts the listener that answers everything at `/graphql`. */
export function graphqlMount(listener: NodeListener): Mount {
  const page = {
    description: 'Data, errors or both; the page where a browser asks.',
    content: { ...OPERATION.answers[200]?.content, 'text/html': { type: 'string' } },
  };
  return {
    path: '/graphql',
    needs: ['read'],
    listener,
    operations: {
      GET: { ...OPERATION, query: inAddress, answers: { ...OPERATION.answers, 200: page } },
      POST: { ...OPERATION, body: { content: { 'application/json': asked } } },
    },
  };
}

const DESCRIPTION =
  'An Arrow IPC stream of one snapshot: a record batch of at most 4,096 rows after the other, and an empty one behind the last. The metadata of each batch has `espalier.after`, from which ?after= goes on when the connection broke; that of the empty one `espalier.end` (`end` or `limit`), or `espalier.error` as JSON. A stream without either broke. Rows come run by run, and in each tree by tree as these were opened. The columns are those of the query parameter `columns`; all may be null, and their types never change.';

/** Mounts what streams whole tables to pandas, polars and everything else that reads Arrow. */
export function tableMounts(listener: NodeListener): readonly Mount[] {
  return (Object.keys(readableTables) as TableName[]).map((name) => ({
    path: `/v1/tables/${name}`,
    needs: ['read'],
    listener: answering(ARROW_STREAM, (query) => refusedTable(name, query), listener),
    operations: {
      GET: {
        summary: `${readableTables[name].summary}, as an Arrow stream.`,
        description: DESCRIPTION,
        query: tableQueries[name],
        headers: z.looseObject({
          'accept-encoding': z
            .string()
            .optional()
            .describe('`zstd` (where the server runs Node 22.15 or later) or `gzip`, as the answer is then compressed.'),
        }),
        answers: {
          200: {
            description: 'The table.',
            content: { [ARROW_STREAM]: { type: 'string', contentMediaType: ARROW_STREAM } },
            headers: { 'espalier-position': 'Everything below this position of the log is in the table.' },
          },
          ...refusals({
            400: 'A parameter is unknown or wrong, or the moment lies beyond the record.',
            422: 'A cursor or a position is none, a column or an id is unknown; or too much would be folded for the moment, or a statement takes too long.',
            429: 'The key reads two tables, the server four: ask again after Retry-After seconds.',
          }),
        },
      },
    },
  }));
}

/** Refuses here what is wrong with a request: the listener may be another thread, which starts with the first query. */
function answering(type: string, parse: (query: Query) => Reply | undefined, listener: NodeListener): NodeListener {
  return (req, res, context) => {
    const reply = refusedOf(req.url ?? '/', parse);
    if (reply === undefined && req.method !== 'HEAD') return listener(req, res, context);
    const { status, headers, body } = reply ?? { status: 200, headers: { 'content-type': type }, body: '' };
    res.writeHead(status, { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', ...headers });
    return res.end(req.method === 'HEAD' ? undefined : body);
  };
}
type Query = Readonly<Record<string, string>>;

function refusedOf(target: string, parse: (query: Query) => Reply | undefined): Reply | undefined {
  const { searchParams } = new URL(target, 'http://localhost');
  const given = [...searchParams.keys()];
  const twice = given.find((each, i) => given.indexOf(each) !== i);
  if (twice !== undefined) return refuse(400, `${twice} is given twice`, `give it once; several values have commas between them`);
  return parse(Object.fromEntries(searchParams));
}

function refusedTable(name: TableName, query: Query): Reply | undefined {
  const parsed = parseTableQuery(name, query);
  return parsed.kind === 'refused' ? wrongFields(parsed.error) : undefined;
}

const BYTES = { type: 'string', contentMediaType: 'application/octet-stream' };
const OF_FILE = {
  etag: 'The SHA-256 of the file in quotes: equal exports have equal bytes.',
  'accept-ranges': 'Always `bytes`.',
};

/** How long a file is written is the limit of its statements, not of a connection on which nothing moves meanwhile. */
function patient(listener: NodeListener): NodeListener {
  return (req, res, context) => {
    const idle = req.socket.timeout;
    req.socket.setTimeout(0);
    for (const event of ['pipe', 'close']) res.once(event, () => req.socket.setTimeout(idle ?? 0)); // the body moves again
    return listener(req, res, context);
  };
}

/** Mounts what answers the files of `espalier export`. */
export function exportMount(listener: NodeListener): Mount {
  const content = { 'application/x-ndjson': BYTES, 'application/vnd.apache.parquet': BYTES };
  const refusedQuery = (query: Query) => {
    const parsed = exportQuery.safeParse(query);
    return parsed.success ? undefined : wrongFields(parsed.error);
  };
  return {
    path: '/v1/exports',
    needs: ['read'],
    listener: answering('application/x-ndjson', refusedQuery, patient(listener)),
    operations: {
      GET: {
        summary: 'An export for a trainer, as the file that `espalier export` writes, or its manifest.',
        description:
          'The file is written whole before its first byte is sent, and kept for an hour after it was made: who read a part asks for the rest by Range, with the ETag in If-Range; a 200 in place of 206 is a new file, as the record went on and the old one is gone. Formats that keep pictures in files of their own are refused where there are any.',
        query: exportQuery,
        headers: z.looseObject({
          range: z.string().optional().describe('One range of bytes: `bytes=4096-`.'),
          'if-range': z.string().optional().describe('The ETag of the file that a part is of.'),
        }),
        answers: {
          200: {
            description: 'The file; with `manifest=true` its manifest.',
            content: { ...content, 'application/json': { type: 'object' } },
            headers: OF_FILE,
          },
          206: {
            description: 'A part of it.',
            content,
            headers: { ...OF_FILE, 'content-range': 'Which bytes, of how many.' },
          },
          307: {
            description: 'A file of 8 MiB or more is in a bucket: read it there, without the key (curl -L).',
            headers: { location: 'A signed address.' },
          },
          ...refusals({
            400: 'A parameter is unknown or wrong, or does not go with another; or the moment lies beyond the record.',
            404: 'Nothing that the key sees matches.',
            410: 'The payload of something that matches is forgotten.',
            416: 'The file ends before the range.',
            422: 'The format cannot hold what is on record: the code and the message say what, and the remedy what to do.',
            429: 'The key has two exports written, the server four: ask again after Retry-After seconds.',
            503: 'The projections are apart, or the server cannot write: ask again after Retry-After seconds.',
          }),
        },
      },
    },
  };
}

const id = z.uuid().describe('The id of a run, a tree or a rollout.');

/** Mounts what writes pages that open without a server. */
export function pageMount(listener: NodeListener): Mount {
  return {
    path: '/v1/pages',
    needs: ['read'],
    listener,
    operations: {
      GET: {
        summary: 'What the studio shows of a run, a tree or a rollout, as one page that opens without a server.',
        query: z.object({ id, tree: z.uuid().optional().describe('The tree of a rollout whose id several trees have.') }),
        answers: {
          200: { description: 'The page: it holds its data and its images.', content: { 'text/html': { type: 'string' } } },
          ...refusals({
            400: 'The id is no UUID.',
            404: 'No run, tree or rollout has the id.',
            422: 'More would be read than a query may read, or several trees have a rollout of that id.',
            503: 'The studio of this server is not built.',
            429: 'Too many pages are being written: ask again after Retry-After seconds.',
          }),
        },
      },
    },
  };
}
