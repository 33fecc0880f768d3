import { setTimeout as delay } from 'node:timers/promises';
import type { Platform } from '../../src/platform/open-platform.ts';
import { freePort } from '../../src/runtime/free-port.ts';
import { environmentOf } from '../../src/testing/crashing-run.ts';
import { type ChildProcess, startRole } from '../../src/testing/worker-process.ts';

export const ROLES = ['collector', 'projector', 'batcher', 'trainer', 'relay', 'api'] as const;
export type Role = (typeof ROLES)[number];
/** Roles of which two processes work side by side: of the others the second begins when the first is silent. */
const SIDE_BY_SIDE: ReadonlySet<Role> = new Set<Role>(['projector', 'batcher', 'relay']);

/** The processes of one training, one of each role. What dies is started again, as a supervisor would. */
export interface ProcessGroup {
  /** Waits until the process of a role is at work, if it has one. */
  ready(role: Role): Promise<void>;
  /**
   * Kills with SIGKILL, waits for the end and starts the next. False when there is none: the collector has ended with its run.
   */
  kill(role: Role): Promise<boolean>;
  /** Marks that servers are away meanwhile: who is just starting then may give up, and is started again. */
  outage<T>(meanwhile: () => Promise<T>): Promise<T>;
  /** Stops with SIGSTOP, and lets it go on when `meanwhile` is over. */
  pause(role: Role, meanwhile: () => Promise<void>): Promise<void>;
  /**
   * Stops the process of a role with SIGSTOP and has another one do its work, which begins after `silent` unless two of the role
   * work side by side. Lets the first go on when `meanwhile` is over, and ends it after `together`, which is handed how it ends.
   * False when there was none.
   */
  freeze(role: Role, freezing: Freezing): Promise<boolean>;
  /** Where the API listens now. */
  apiUrl(): string;
  /** Whether the collector came to the end of its run. */
  collected(): boolean;
  /** Processes that ended without being asked to. */
  readonly exited: readonly Exited[];
  /** Ends all with SIGTERM. @throws Error when one of them does not end when asked to. */
  dismiss(): Promise<void>;
  /** Kills all that are left with SIGKILL; nobody is started again. */
  abandon(): Promise<void>;
  /** What everybody said last; for a failure. */
  stderrTail(): string;
}

interface Freezing {
  readonly silent: () => Promise<void>;
  readonly meanwhile: () => Promise<void>;
  readonly together: (ended: Promise<number | string>) => Promise<void>;
}

interface Exited {
  readonly role: Role;
  readonly end: number | string;
  /** Its last ones. */
  readonly words: string;
  /**
   * `work`: it had begun. `start`: it had not, and a server was away since it was started. `no reason`: it had not, and none was.
   */
  readonly at: 'work' | 'start' | 'no reason';
}

interface ProcessGroupOptions {
  /** How processes reach the database; another address than the platform's where connections are to be cut. */
  readonly databaseUrl: string;
  readonly port: number;
  readonly planFile: string;
  readonly policyId: string;
}

interface Member {
  child: ChildProcess;
  stopping: boolean;
  /** Of outages, when it was started. */
  outages: number;
}

const READY: Readonly<Record<Role, RegExp>> = {
  collector: /"collecting"/,
  projector: /"projecting"/,
  batcher: /"batching"/,
  trainer: /"training"/,
  relay: /"relaying"/,
  api: /"serving"/,
};

/** Starts everybody. */
export function startProcessGroup(platform: Platform & { readonly home: string }, options: ProcessGroupOptions): ProcessGroup {
  let { port } = options;
  const environment = () => ({ ...environmentOf(platform), DATABASE_URL: options.databaseUrl, ESPALIER_PORT: String(port) });
  const commands: Readonly<Record<Role, readonly [string, ...string[]]>> = {
    collector: ['collect', options.planFile],
    projector: ['project'],
    batcher: ['batch'],
    trainer: ['train', options.policyId, 'chaos'],
    relay: ['relay'],
    api: ['api'],
  };
  const members = new Map<Role, Member>();
  const extra = new Set<ChildProcess>(); // frozen ones, next to those that replaced them
  const exited: Exited[] = [];
  let [begun, under] = [0, 0]; // outages so far, and those that last
  let isCollected = false;
  let isOver = false;

  function start(role: Role): void {
    const [served, ...words] = commands[role];
    const member: Member = { child: startRole(served, environment(), ...words), stopping: false, outages: begun - under };
    members.set(role, member);
    void member.child.ended.then((end) => {
      if (member.stopping || isOver) return;
      if (role === 'collector' && end === 0) {
        isCollected = true;
        members.delete(role);
        return;
      }
      fell(role, member, end);
    });
  }
  function fell(role: Role, { child, outages }: Member, end: number | string): void {
    const hadBegun = child
      .stderr()
      .split('\n')
      .some((line) => READY[role].test(line));
    exited.push({ role, end, words: tail(child), at: hadBegun ? 'work' : begun > outages ? 'start' : 'no reason' });
    if (members.get(role)?.child === child) start(role);
  }
  for (const role of ROLES) start(role);

  return {
    exited,
    collected: () => isCollected,
    async ready(role) {
      await members
        .get(role)
        ?.child.saying(READY[role])
        .catch(() => undefined); // one that ended meanwhile is replaced
    },
    async kill(role) {
      const member = members.get(role);
      if (!member) return false;
      member.stopping = true;
      member.child.kill('SIGKILL');
      const end = await member.child.ended;
      if (end === 'SIGKILL') start(role);
      else if (role === 'collector' && end === 0) {
        isCollected = true; // it had come to its end just before
        members.delete(role);
      } else fell(role, member, end);
      return end === 'SIGKILL';
    },
    async outage(meanwhile) {
      begun++;
      under++;
      try {
        return await meanwhile();
      } finally {
        under--;
      }
    },
    async pause(role, meanwhile) {
      const member = members.get(role);
      member?.child.kill('SIGSTOP');
      await meanwhile();
      member?.child.kill('SIGCONT');
    },
    async freeze(role, { silent, meanwhile, together }) {
      const frozen = members.get(role);
      if (!frozen) return false;
      await frozen.child.saying(READY[role]).catch(() => undefined);
      if (members.get(role) !== frozen) return false; // it ended meanwhile
      frozen.stopping = true;
      extra.add(frozen.child);
      const next = async () => {
        if (role === 'api') port = await freePort(); // the first one keeps its own
        start(role);
        await members
          .get(role)
          ?.child.saying(READY[role])
          .catch(() => undefined); // one that ended is started again
      };
      try {
        if (SIDE_BY_SIDE.has(role)) await next();
        frozen.child.kill('SIGSTOP');
        if (!SIDE_BY_SIDE.has(role)) {
          await silent();
          await next();
        }
        await meanwhile();
        frozen.child.kill('SIGCONT');
        await together(frozen.child.ended);
      } finally {
        frozen.child.kill('SIGKILL');
        await frozen.child.ended;
        extra.delete(frozen.child);
      }
      return true;
    },
    apiUrl: () => `http://127.0.0.1:${port}`,
    async dismiss() {
      // One that is still starting has no handler of its own for the signal yet.
      await Promise.all([...members].map(([role, { child }]) => child.saying(READY[role])));
      isOver = true;
      for (const { child } of members.values()) child.kill('SIGTERM');
      const ends = await Promise.all([...members].map(async ([role, { child }]) => ({ role, child, end: await child.ended })));
      const failed = ends
        .filter(({ end }) => end !== 0)
        .map(({ role, child, end }) => `${role} ended with ${end}: ${tail(child)}`);
      if (failed.length > 0) throw new Error(failed.join('\n'));
    },
    async abandon() {
      isOver = true;
      for (const child of [...extra, ...[...members.values()].map((member) => member.child)]) child.kill('SIGKILL');
      await Promise.all([...members.values()].map(({ child }) => child.ended));
    },
    stderrTail: () => [...members].map(([role, { child }]) => `${role} (${child.pid}): ${tail(child)}`).join('\n'),
  };
}

function tail(child: ChildProcess): string {
  return child.stderr().trimEnd().split('\n').slice(-4).join('\n').slice(-3_000);
}

/** Asks again while the database or the broker is away. @throws what was thrown last when that takes too long. */
export async function withRetry<T>(ask: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await delay(100);
    }
  }
}
