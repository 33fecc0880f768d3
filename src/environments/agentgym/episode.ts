import { type Environment, EnvironmentError, type Opening, type StepResult, type TaskStart } from '../environment.ts';
import { abridge } from '../http/server-call.ts';
import { type ClientRevision, clientAction } from './client-action.ts';
import type { ServerDescriptor } from './descriptor.ts';
import type { Hints } from './hints.ts';
import type { Lease, LeasePool } from './lease-pool.ts';
import { openTask, shownText } from './open-task.ts';
import { readOverrides } from './overrides.ts';
import { parseResponse } from './parse-response.ts';
import { type RemoteStep, type Server, stepRemote } from './remote.ts';
import { snapAction } from './snap-action.ts';

export interface EpisodeOptions {
  readonly server: Server;
  readonly pool: LeasePool;
  readonly tasks: ReadonlySet<string>;
  /** What is done to an action before it is sent: nothing (the default), or what a published client or Agent-R did. */
  readonly rewrite: Rewrite;
  /** There when openings and steps are to list what is possible. */
  readonly hints?: Hints;
}

export type Rewrite =
  | { readonly kind: 'none' }
  | { readonly kind: 'client'; readonly revision: ClientRevision }
  | { readonly kind: 'snap' };

/** What an episode remembers between its steps. */
interface Course {
  readonly reward: Reward;
  /** Steps in a row over which the server failed. */
  readonly faults: number;
  /** Agent-R's form of the history: `(action, observation)`. */
  readonly history: readonly string[];
  /** Its first observation, where what is possible is read out of it. */
  readonly opening: string;
}

const FAULT_LIMIT = 3; // a server that fails over so many actions in a row fails over everything

/**
 * Opens an environment on a leased place of a server. Nothing is sent before the first reset. A step over which the server fails, while its environment is still there, is an observation that the agent sees and the
 * record keeps; three in a row are an error.
 */
export async function openEpisode(options: EpisodeOptions): Promise<Environment> {
  const { server, pool, tasks } = options;
  const { title, step: rules, action: form } = server.descriptor;
  let lease = await pool.take();
  let phase: 'idle' | 'running' | 'broken' | 'closed' = 'idle';
  let course = begin();

  function begin(): Course {
    return { reward: normaliseReward(rules, 0, 0), faults: 0, history: [], opening: '' };
  }

  function running(): Lease {
    pool.touch();
    if (phase === 'broken' || lease.isForgotten)
      throw new EnvironmentError('gone', `${title} has lost the episode`, { retryable: true });
    if (phase !== 'running') throw new EnvironmentError('gone', 'no task is running: reset first');
    return lease;
  }

  async function renew(): Promise<void> {
    phase = 'broken';
    await pool.giveBack(lease, 'broken');
    lease = await pool.take();
  }

  /**
   * Before the first step nothing is lost: where the server was started again, the idle earlier places fail one by one, then a
   * new one opens.
   */
  async function openSomewhere(task: number, mode?: 'alone'): Promise<Opening> {
    for (let left = pool.size; ; left--) {
      try {
        return await openTask(server, lease.id, task, mode);
      } catch (error) {
        phase = 'broken';
        if (left === 0 || !(error instanceof EnvironmentError) || error.code !== 'gone') throw error;
        await renew();
      }
    }
  }

  function possible(hints: Hints): Promise<readonly string[]> {
    return hints.read(server, running().id, course.opening);
  }

  async function reset({ alias, mode }: TaskStart): Promise<Opening> {
    if (phase === 'closed') throw closedBefore();
    if (!tasks.has(alias)) throw unlisted(options, alias);
    if (phase === 'broken' || lease.isForgotten) await renew();
    pool.touch();
    const opened = await openSomewhere(Number(alias), mode);
    phase = 'running';
    course = { ...begin(), opening: opened.observation };
    return options.hints ? { ...opened, admissibleActions: await possible(options.hints) } : opened;
  }

  async function step(action: string): Promise<StepResult> {
    const { id } = running();
    try {
      const sent = await rewritten(options, id, action, course.history);
      if (sent.kind === 'refuse') return refused(sent.observation, unmoved(course.reward));
      const result = await stepRemote(server, id, sent.action);
      running(); // an id that was given to another meanwhile answered from that one's episode
      course = after(course, rules, sent.action, result);
      if (result.kind === 'stepped') {
        const listed = describe(server, result, course.reward);
        const isOpen = options.hints && !listed.terminated;
        const described = isOpen ? { ...listed, admissibleActions: await possible(options.hints) } : listed;
        return options.rewrite.kind === 'snap' && sent.action !== action ? { ...described, executed: sent.action } : described;
      }
      if (course.faults < FAULT_LIMIT)
        return refused(`The environment failed over this action: ${result.reason}`, unmoved(course.reward));
      throw new EnvironmentError(
        'backend',
        `${title} fails over every action (${abridge(result.reason)}): start the server again, then continue with --resume`,
      );
    } catch (error) {
      phase = 'broken'; // nobody knows in what state it is
      throw error;
    }
  }

  return {
    reset,
    step,
    parse: (response) => parseResponse(form, response),

    close: async () => {
      if (phase === 'closed') return;
      const condition = phase === 'broken' ? 'broken' : 'usable';
      phase = 'closed';
      await pool.giveBack(lease, condition);
    },
  };
}

function closedBefore(): EnvironmentError {
  return new EnvironmentError('gone', 'the environment was closed: create another one');
}

function after(
  { reward, faults, history, opening }: Course,
  rules: Server['descriptor']['step'],
  sent: string,
  result: RemoteStep,
): Course {
  if (result.kind === 'failed') return { reward, faults: faults + 1, history, opening };
  return {
    reward: normaliseReward(rules, result.raw, reward.value),
    faults: 0,
    history: [...history, `(${sent}, ${result.observation})`],
    opening,
  };
}

/** The reward of a step that did not happen: a cumulative one stays what it was, any other is nothing. */
function unmoved(reward: Reward): Reward {
  return reward.kind === 'cumulative' ? { ...reward, gain: 0 } : { ...reward, value: 0, raw: 0 };
}

async function rewritten(
  { server, rewrite }: EpisodeOptions,
  id: number,
  action: string,
  history: readonly string[],
): Promise<ReturnType<typeof clientAction>> {
  switch (rewrite.kind) {
    case 'none':
      return { kind: 'post', action };
    case 'client':
      return clientAction(server.descriptor.client, rewrite.revision, action);
    case 'snap':
      return { kind: 'post', action: snapAction(action, await readOverrides(server, id), history) };
    default:
      return rewrite satisfies never;
  }
}

function describe(server: Server, result: Extract<RemoteStep, { kind: 'stepped' }>, reward: Reward): StepResult {
  const isFatal = reward.fatal === true;
  const terminated = result.done || isFatal;
  const isWon = server.descriptor.step.success === 'any-end' ? result.done : reward.value >= 1;
  return {
    observation: shownText(server, result.observation, result.actions),
    reward,
    terminated,
    truncated: false,
    success: terminated ? isWon && !isFatal : null,
    executable: !server.descriptor.refusal.test(result.observation),
    admissibleActions: terminated ? null : result.actions,
    stateHash: null,
  };
}

function refused(observation: string, reward: Reward): StepResult {
  const open = { terminated: false, truncated: false, success: null };
  return { observation, reward, ...open, executable: false, admissibleActions: null, stateHash: null };
}

function unlisted({ server, tasks }: EpisodeOptions, alias: string): EnvironmentError {
  const [first] = tasks;
  return new EnvironmentError(
    'unknown-task',
    `${server.descriptor.title} was opened with ${tasks.size} tasks from ${first} on, not with ${JSON.stringify(alias.slice(0, 80))}: name it behind the #`,
  );
}

type Reward = StepResult['reward'];

/**
 * Brings a server's reward to 0..1 (agent-r §4.5): divided by its scale, negatives as 0 (and `fatal` where they mean the end),
 * never above 1. For a cumulative reward `value` is what is earned so far and `gain` what this step added to it, so that gains
 * add up to the last value.
 * @param before the value after the step before; 0 at the start.
 */
function normaliseReward(step: ServerDescriptor['step'], raw: number, before: number): Reward {
  const value = Math.min(Math.max(raw / step.scale, 0), 1);
  return {
    value,
    raw,
    scale: step.scale,
    kind: step.kind,
    ...(step.kind === 'cumulative' ? { gain: value - before } : {}),
    ...(raw < 0 && step.negative === 'fatal' ? { fatal: true } : {}),
  };
}
