import { once } from 'node:events';
import type { MessagePort } from 'node:worker_threads';
import type { Platform } from '../platform/open-platform.ts';
import type { Running } from '../runtime/lifecycle.ts';
import type { Fields, Logger } from '../runtime/logger.ts';
import type { MeasuredElsewhere } from '../runtime/metrics.ts';
import type { FromThread, ThreadData, ThreadRole, ToThread } from './start-in-thread.ts';
import { startOnPlatform } from './start-on-platform.ts';

type Start = (platform: Platform, logger: Logger) => Promise<Running & { readonly url?: string }>;

/** Loaded by the thread that needs them alone. */
const STARTS: Readonly<Record<ThreadRole, () => Promise<Start>>> = {
  project: async () => (await import('./project.ts')).keepProjected,
  queries: async () => (await import('./serve-queries.ts')).serveQueries,
};

/**
 * The process has refused a log that is not as it was recorded where it must; what such a log holds can still be asked. During an
 * outage a query is answered with 503, and a later one starts the thread again.
 */
const OPENING = {
  project: { onFaults: 'refuse', whileUnreachable: 'wait' },
  queries: { onFaults: 'report', whileUnreachable: 'fail' },
} as const satisfies Readonly<Record<ThreadRole, unknown>>;

/** Runs a role over a platform of its own until the process that started the thread asks it to end (`start-in-thread.ts`). */
export async function serveInThread(port: MessagePort, { role, config }: ThreadData): Promise<void> {
  const stopping = new AbortController();
  const asked = once(stopping.signal, 'abort');
  let measured = async (): Promise<MeasuredElsewhere> => [];
  port.on('message', (asked: ToThread) => {
    if (asked === 'close') stopping.abort();
    else void measured().then((metrics) => say({ kind: 'measured', metrics }));
  });
  const say = (message: FromThread) => port.postMessage(message);
  const logger = loggerTo(say);
  const start = await STARTS[role]();
  const { running, close } = await startOnPlatform(
    { config, name: role, logger, signal: stopping.signal, ...OPENING[role] },
    (platform) => {
      measured = () => platform.metrics.measured();
      return start(platform, logger);
    },
  );
  say({ kind: 'ready', url: running.url ?? null });
  try {
    await Promise.race([asked, running.finished]);
  } finally {
    await close();
  }
}

function loggerTo(say: (message: FromThread) => void, bound: Fields = {}): Logger {
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields: Fields = {}) =>
      say({ kind: 'log', level, message, fields: { ...bound, ...fields } });
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    with: (fields) => loggerTo(say, { ...bound, ...fields }),
  };
}
