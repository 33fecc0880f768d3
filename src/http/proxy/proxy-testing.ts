import { afterEach, beforeEach } from '@jest/globals';
import { TOPICS } from '../../events/catalogue.ts';
import { unpack } from '../../events/packed.ts';
import type { BlobRef, Packed } from '../../events/schemas/values.ts';
import type { EventLog } from '../../log/event-log.ts';
import { formatPosition } from '../../log/position.ts';
import { readEventsOfTypes } from '../../projections/journal/read-events-of-types.ts';
import { readPrompts } from '../../projections/prompts/read-prompts.ts';
import { tokensAsJson } from '../../projections/step-tree/token-bytes.ts';
import { PROXY_PATHS } from '../../runtime/config.ts';
import { type Logger, SILENT } from '../../runtime/logger.ts';
import { type Answer, startUpstream, type TestUpstream } from '../../testing/upstream.ts';
import { type Capture, openCapture } from '../../usecases/capture/open-capture.ts';
import { openTraces } from '../../usecases/capture/traces/receive-spans.ts';
import { openUpstream } from '../../usecases/capture/upstream.ts';
import { openTestApi, type ServeOptions, type TestApi } from '../http-testing.ts';

export interface TestProxy {
  readonly api: TestApi;
  readonly upstream: TestUpstream;
  /** Replaces how the model server answers. */
  answer(by: Answer): void;
  /** Starts one more server that knows nothing but the record. @returns its address. */
  restart(options?: ProxySetting): Promise<string>;
  /** Places the spans that wait, as the server that was started last. */
  place(): Promise<readonly string[]>;
  /** Places the spans that wait as every server that was started, all at once. */
  placeBySeveral(): Promise<readonly string[]>;
  /** What the record holds, once it is folded. */
  recorded(): Promise<Recorded>;
  close(): Promise<void>;
}
export interface ProxySetting {
  /** Another model server than that whose answers the test writes. */
  readonly upstream?: string;
  readonly timeoutMs?: number;
  readonly whenUnrecorded?: 'fail' | 'pass';
  readonly replyBytes?: number;
  readonly paths?: readonly string[];
  readonly clock?: () => number;
  readonly logger?: Logger;
  readonly log?: EventLog;
  readonly serve?: Omit<ServeOptions, 'api'>;
}
export type Recorded = Awaited<ReturnType<typeof readRecorded>>;

/** A proxy before a model server whose answers a test writes, on a record of its own. */
export async function openTestProxy(): Promise<TestProxy> {
  const api = await openTestApi();
  let by: Answer = () => ({});
  const captures: Capture[] = [];
  const upstream = await startUpstream((body, res) => by(body, res));
  await api.project();
  const place = async (by: readonly Capture[]): Promise<readonly string[]> => {
    await api.projected(formatPosition(await api.log.ends(TOPICS)));
    const said = by.map((capture) => openTraces({ db: api.database.db, capture }).place({ endedMs: 0, openMs: 0 }));
    return (await Promise.all(said)).flat();
  };
  return {
    api,
    upstream,
    answer: (next) => {
      by = next;
    },
    async restart({
      timeoutMs,
      upstream: other,
      whenUnrecorded = 'fail',
      paths = PROXY_PATHS,
      replyBytes,
      clock = Date.now,
      log = api.log,
      logger = SILENT,
      serve = {},
    } = {}) {
      const capture = openCapture({ database: api.database, log, blobs: api.blobs, config: { capture: {} } });
      captures.push(capture);
      const proxy = {
        capture,
        upstream: openUpstream({ url: other ?? upstream.url, apiKey: 'sk-of-upstream', timeoutMs }),
        whenUnrecorded,
        paths,
        clock,
        ...(replyBytes === undefined ? {} : { replyBytes }),
      };
      return (await api.serve({ ...serve, api: { proxy, logger } })).url;
    },
    place: () => place(captures.slice(-1)),
    placeBySeveral: () => place(captures),
    recorded: () => readRecorded(api),
    close: async () => {
      await api.close();
      await upstream.close();
    },
  };
}

export interface PostOptions {
  readonly headers?: object;
  readonly base?: string;
  readonly signal?: AbortSignal;
}

/** Sends JSON to a path of the proxy at an address. */
export async function postTo(base: string, path: string, body: object, { headers = {}, signal }: PostOptions = {}) {
  const response = await fetch(`${base}/v1/proxy${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
  const text = await response.text();
  const json = () =>
    JSON.parse(text) as { choices: { message: { content: string } }[]; error: { message: string; remedy: string } };
  return { status: response.status, headers: response.headers, text, json };
}

/** Messages of a conversation. */
export const user = (content: string | readonly object[]) => ({ role: 'user', content });
export const assistant = (content: string) => ({ role: 'assistant', content });

/** Opens a proxy before each test of a file and closes it behind that; calls go to that of the current test. */
export function proxyForTests() {
  let proxy: TestProxy;
  let url: string;
  beforeEach(async () => {
    proxy = await openTestProxy();
    url = await proxy.restart();
  });
  afterEach(() => proxy.close());

  const post = (path: string, body: object, options: PostOptions = {}) => postTo(options.base ?? url, path, body, options);
  return {
    proxy: {
      get api() {
        return proxy.api;
      },
      get upstream() {
        return proxy.upstream;
      },
      get url() {
        return url;
      },
      answer: (by: Answer) => proxy.answer(by),
      restart: (options?: ProxySetting) => proxy.restart(options),
      recorded: () => proxy.recorded(),
    },
    post,
    chat: (messages: readonly object[], more: object = {}, place = '/run/task/0') =>
      post(`${place}/chat/completions`, { model: 'served', messages, ...more }),
    end: (body: object = {}, place = '/run/task/0') => post(`${place}/end`, body),
  };
}

/** The tokens of a step as text: those of the test's model server are the bytes of it. */
export function textOfTokens(tokens: Record<string, unknown> | null): string {
  return Buffer.from(idsOf(tokens)).toString();
}

export function idsOf(tokens: Record<string, unknown> | null) {
  return unpack((tokens as { ids: Packed }).ids); // as the schema of the event has it
}

async function readRecorded(api: TestApi) {
  const { db } = api.database;
  await api.projected(formatPosition(await api.log.ends(TOPICS)));
  const steps = await db
    .selectFrom('steps')
    .select(['stepId', 'parentStepId', 'rolloutId', 'depth', 'response', 'action', 'observation', 'termination', 'finishReason'])
    .select(['treeId', 'thought', 'completionTokens', 'call', 'reply'])
    .select(tokensAsJson('steps').as('tokens'))
    .orderBy('logOffset')
    .execute();
  const rollouts = await db.selectFrom('rollouts').selectAll().orderBy('ordinal').execute();
  const trees = await db.selectFrom('trees').selectAll().execute();
  const events = await Promise.all(trees.map(({ treeId }) => readEventsOfTypes(db, treeId, ['CallCaptured'])));
  const calls = events.flat().map(({ data }) => data);
  const bytes = ({ blob }: BlobRef) => api.blobs.get(blob);
  const text = async (reference: BlobRef) => Buffer.from(await bytes(reference)).toString('utf8');
  const prompts = await readPrompts(
    db,
    calls.flatMap(({ treeId, stepId: id }) => (id === null ? [] : [{ treeId, id }])),
    { text, bytes },
  );
  const quarantined = await db.selectFrom('quarantine').select('reason').execute();
  return {
    steps,
    rollouts,
    trees,
    calls,
    prompts: new Map([...prompts.values()].map((prompt) => [prompt.stepId, prompt])),
    quarantined: quarantined.map(({ reason }) => reason),
    runs: await db.selectFrom('runs').selectAll().execute(),
    tools: await db.selectFrom('toolCalls').select(['tool', 'arguments', 'output', 'stepId', 'durationMs']).execute(),
    rewards: await db.selectFrom('rewards').select(['stepId', 'rolloutId', 'component', 'value']).execute(),
  };
}
