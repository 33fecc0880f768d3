import { z } from 'zod';
import type { Score, ScoredEpisode } from '../../domain/reward/scored-episode.ts';
import { cutFront } from '../../domain/text/cut-text.ts';
import { EnvironmentError, type ScorerName } from '../environment.ts';
import { type PythonProcess, startPython } from '../http/python-process.ts';
import { abridge, type CallOptions, callServer } from '../http/server-call.ts';
import { StartGate } from '../http/start-gate.ts';
import { ToolError } from '../tools/tool.ts';
import { readAnswer, refused, serverAddress } from '../tools/tool-server.ts';

/** The protocol's name and version, which a server of a reward names. */
export const REWARD_PROTOCOL = 'espalier-reward/1';

const REFUSED = 422; // the status of an episode that has no score
const TIMEOUT_MS = 30_000; // a rule takes microseconds; a judge some seconds
const PATIENCE_MS = 30_000; // a server that is started again takes that long

/** What `GET /reward` answers. */
const rewardShape = z.object({
  protocol: z.literal(REWARD_PROTOCOL).describe('Name and version of the protocol.'),
  name: z.string().min(1).describe('Name that rewards are recorded under.'),
  revision: z.string().min(1).max(200).describe('Revision, which changes when the same episode can get another reward.'),
});

/** What `POST /score {episode}` answers. */
const scoreShape = z.object({
  value: z.unknown().describe('The reward.'),
  success: z.boolean().nullish().describe('Whether the task was done; unknown when left out.'),
  parts: z.record(z.string(), z.unknown()).optional().describe('What the reward was made of.'),
});

/** A reward that another process computes. */
export interface RewardServer {
  readonly scorer: ScorerName;
  /** Scores an episode. @throws EnvironmentError when the server is unavailable or breaks the protocol; ToolError: why it gives no score. */
  score(episode: ScoredEpisode): Promise<{ readonly [Key in keyof Score]?: unknown }>;
  close(): Promise<void>;
}

/** Starts `python -m espalier_rl serve-reward` for a file, or for `math-verify`. @throws ToolError. */
export async function openPythonReward(place: string): Promise<RewardServer> {
  const process = await startPython('serve-reward', place).catch(refused);
  try {
    return await openRewardServer(process.url, process);
  } catch (error) {
    await process.close();
    throw error;
  }
}

/**
 * Opens the reward of a server. @param process of this program, which serves it; closing the reward closes it. @throws ToolError
 * that says what the server lacks.
 */
export async function openRewardServer(url: string, process?: PythonProcess): Promise<RewardServer> {
  const calls: CallOptions = {
    baseUrl: serverAddress(url, 'a server of a reward'),
    timeoutMs: TIMEOUT_MS,
    patienceMs: process ? 0 : PATIENCE_MS,
    process,
  };
  const read = async (more: Partial<CallOptions>) => {
    const get = { method: 'GET', path: '/reward', repeat: 'safe' } as const;
    const answer = await callServer(get, { ...calls, patienceMs: 0, ...more }).catch(refused);
    return readAnswer(rewardShape, answer, `GET ${url}/reward`);
  };
  const { name, revision } = await read({});
  process?.onRestart(async (baseUrl) => {
    const restarted = await read({ baseUrl, process: undefined });
    return restarted.revision === revision;
  });
  const gate = new StartGate();
  const post = (episode: ScoredEpisode, mode: 'together' | 'alone') =>
    gate.pass(mode, () => callServer({ method: 'POST', path: '/score', json: { episode }, repeat: 'safe' }, calls));
  return {
    scorer: { name: cutFront(name, 200), revision },
    async score(episode) {
      const answer = await post(episode, 'together').catch((error: unknown) => {
        if (!isLost(error)) throw error;
        return post(episode, 'alone').catch(failed); // so that a second loss is over this episode
      });
      if (answer.status === REFUSED) throw new ToolError(messageOf(answer.body));
      const what = `POST ${process?.name ?? url}/score`;
      // Says nothing of the episode, and would be answered again: what is put off or cut off on the way is thrown before.
      if (answer.status !== 200)
        throw new EnvironmentError('failed', `${what} answered HTTP ${answer.status}: ${messageOf(answer.body)}`);
      try {
        return readAnswer(scoreShape, answer, what);
      } catch (error) {
        if (!(error instanceof ToolError)) throw error;
        throw new EnvironmentError('failed', error.message, { cause: error });
      }
    },
    close: async () => process?.close(),
  };
}

function isLost(error: unknown): error is EnvironmentError {
  return error instanceof EnvironmentError && error.code === 'lost';
}

function failed(error: unknown): never {
  throw isLost(error) ? new ToolError(error.message, { cause: error }) : error;
}

function messageOf(body: string): string {
  try {
    return String((JSON.parse(body) as { message?: unknown }).message ?? abridge(body)); // read by field: any JSON
  } catch {
    return abridge(body);
  }
}
