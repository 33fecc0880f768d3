import type { Platform } from '../platform/open-platform.ts';
import { type ClosingPart, closeInTurn } from '../runtime/close-in-turn.ts';
import type { Running } from '../runtime/lifecycle.ts';
import type { Fields, Logger } from '../runtime/logger.ts';
import { batch } from '../usecases/train/batcher/run-batcher.ts';
import { relay } from '../usecases/train/open-lease-service.ts';
import { keepProjected } from './project.ts';
import { serveApi } from './serve-api.ts';
import { startInThread } from './start-in-thread.ts';

/** A role at work. One without `finished` works until it is closed. */
export interface StartedRole extends Pick<Running, 'close'>, Partial<Pick<Running, 'finished'>> {
  readonly url?: string;
  /** What else its process logs when it is at work. */
  readonly fields?: Fields;
  /** Resolves when it is at work, where that is later than its start. */
  readonly started?: Promise<unknown>;
}

/** What a part of an installation does. It waits for work, and any number of its processes may run. */
interface Role<Started extends StartedRole> {
  readonly about: string;
  /** What its process logs when it is at work. */
  readonly ready: string;
  /** Whether clients send it requests: it has a port for them, and responds for a while after it is asked to stop. */
  readonly reached: boolean;
  start(platform: Platform, logger: Logger): Promise<Started>;
}

const role = <Started extends StartedRole>(defined: Role<Started>) => defined;

/**
 * The parts of an installation, in the order in which they start. `espalier up` runs all of them in one process, `espalier serve` some,
 * and the chart in `infra/helm` and `infra/compose.yaml` have a service for each.
 */
export const ROLES = {
  project: role({
    about: 'folds the log into the read models, and forgets what is older than its project keeps it',
    ready: 'projecting',
    reached: false,
    start: keepProjected,
  }),
  api: role({
    about: 'serves GraphQL, ingest, leases, the studio, health and metrics; any number may run behind one address',
    ready: 'serving',
    reached: true,
    start: serveApi,
  }),
  relay: role({
    about: 'appends what was decided in Postgres to the log, and ends leases that ran out; one process sends at a time',
    ready: 'relaying',
    reached: false,
    start: relay,
  }),
  batch: role({
    about: 'plans training batches; each policy has one planner at a time, and one that dies is replaced by another process',
    ready: 'batching',
    reached: false,
    start: batch,
  }),
};
export type RoleName = keyof typeof ROLES;

interface ScopedCall {
  readonly words: readonly string[];
  readonly signal: AbortSignal;
}

/** A role that works on what the words after its name say, alone in its process. */
interface ScopedRole extends Pick<Role<StartedRole>, 'about' | 'ready' | 'reached'> {
  /** What the words are; in brackets those that may be left out. */
  readonly words: readonly string[];
  /** Whether it has work that ends, and that is to be continued after a stop. */
  readonly ends: boolean;
  start(platform: Platform, logger: Logger, call: ScopedCall): Promise<StartedRole>;
}

/** Loaded by the process that needs them alone. */
export const SCOPED_ROLES = {
  collect: {
    about: 'collects the run of a plan file; started again on the same file, it continues that run',
    words: ['PLAN.json'],
    ready: 'collecting',
    reached: false,
    ends: true,
    start: async (...given) => (await import('./collect-plan.ts')).collectPlan(...given),
  },
  train: {
    about:
      'trains a declared policy on its batches; started again under its name (that of the host), it gets its batch back at once',
    words: ['POLICY', '[NAME]'],
    ready: 'training',
    reached: false,
    ends: true,
    start: async (...given) => (await import('./train-declared.ts')).trainDeclared(...given),
  },
  policy: {
    about: "serves a policy by OpenAI's protocol: linear:FILE, random, or live:POLICY, the newest version of one that is trained",
    words: ['SPEC'],
    ready: 'serving',
    reached: true,
    ends: false,
    start: async (...given) => (await import('./serve-policy.ts')).servePolicy(...given),
  },
} satisfies Readonly<Record<string, ScopedRole>>;
export type ScopedRoleName = keyof typeof SCOPED_ROLES;

type StartedRoles<Name extends RoleName> = { readonly [N in Name]: Awaited<ReturnType<(typeof ROLES)[N]['start']>> };

/**
 * Starts roles in this process. Several share it with projections in a thread of their own where there is a second processor: they
 * take as much of one as collecting does. It resolves while that thread still starts; one that cannot ends `finished`. `close` ends
 * them all; the platform stays the caller's.
 */
export async function startRoles<Name extends RoleName>(
  platform: Platform,
  logger: Logger,
  names: readonly Name[],
): Promise<Running & { readonly roles: StartedRoles<Name> }> {
  const opened: ClosingPart[] = [];
  const close = () => closeInTurn(opened.splice(0).reverse());
  const roles: Partial<Record<RoleName, StartedRole>> = {};
  for (const note of platform.notes) logger.warn(note);
  countRoles(platform, names);
  try {
    for (const name of ROLE_NAMES.filter((each) => names.some((wanted) => wanted === each))) {
      const own = logger.with({ role: name });
      const apart = name === 'project' && names.length > 1 && platform.config.cores > 1;
      const started = apart ? projectInThread(platform, own) : await ROLES[name].start(platform, own);
      roles[name] = started;
      opened.push({ what: `the role ${name}`, close: () => started.close() });
    }
  } catch (error) {
    await close();
    throw error;
  }
  const finished = Object.values(roles).flatMap((started) => started.finished ?? []);
  return {
    roles: roles as StartedRoles<Name>, // each is what the start of its name returned
    finished: Promise.race(finished), // of none: never
    close,
  };
}

/** Adds which roles run in this process to its measurements. */
export function countRoles({ metrics }: Platform, names: readonly (RoleName | ScopedRoleName)[]): void {
  metrics.openGauge('role_up', 'The roles that run in this process', ['role'], async () =>
    names.map((name) => ({ labels: { role: name }, value: 1 })),
  );
}

export const ROLE_NAMES = Object.keys(ROLES) as readonly RoleName[]; // the keys of an object are its keys

function projectInThread(platform: Platform, logger: Logger): Running & { readonly started: Promise<unknown> } {
  const stopping = new AbortController();
  const started = startInThread('project', platform, logger, { signal: stopping.signal });
  const finished = started.then((projecting) => projecting.finished);
  finished.catch(() => undefined); // the caller waits for it
  return {
    started,
    finished,
    async close() {
      stopping.abort();
      await (await started.catch(() => null))?.close();
    },
  };
}
