import { z } from 'zod';
import { sha256Hex } from '../../digest/sha256.ts';
import { parseThoughtAction } from '../../domain/prompts/parse-thought-action.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import { type Environment, EnvironmentError, type Opening, type StepResult, type TaskStart } from '../environment.ts';
import { startGateOf } from '../http/start-gate.ts';
import type { EnvironmentServer } from './environment-server.ts';
import {
  type EpisodeId,
  episodeShape,
  expertShape,
  hintsShape,
  type OpeningAnswer,
  observedShape,
  openingShape,
  PROTOCOL,
  replayShape,
  type StepAnswer,
  stepShape,
} from './protocol.ts';

/** Where an episode is: what the next request must name. */
interface Course {
  readonly episode: EpisodeId | null;
  /** Steps taken. The server answers a step of the same number again as it did before, so that a lost answer loses nothing. */
  readonly steps: number;
  /** What was earned so far, where rewards are cumulative. */
  readonly earned: number;
}

const NEW: Course = { episode: null, steps: 0, earned: 0 };

/** Opens an episode of a server, or one that goes on where another one is. Nothing is sent before the first reset. */
export function openServerEpisode(server: EnvironmentServer, from: Course = NEW): Environment {
  const { description, baseUrl, ask } = server;
  let course = from;
  let closed = false;

  function running(): EpisodeId {
    if (closed || course.episode === null) throw new EnvironmentError('gone', 'no task is running: reset first');
    return course.episode;
  }
  const asked = async <T>(request: (episode: EpisodeId) => Promise<T>): Promise<T> => {
    try {
      return await request(running());
    } catch (error) {
      if (error instanceof EnvironmentError && error.code === 'gone') course = NEW;
      throw error;
    }
  };

  const pass = <T>(mode: TaskStart['mode'], start: () => Promise<T>): Promise<T> =>
    startGateOf(baseUrl).pass(description.resets === 'alone' ? 'alone' : (mode ?? 'together'), start);
  const leave = async (): Promise<void> => {
    const { episode } = course;
    course = NEW;
    // an episode that cannot be closed ends on the server by itself, when it was not used for long
    if (episode !== null) await ask('/close', { episode }, z.unknown()).catch(() => undefined);
  };

  /** Lists what is possible where the answer does not, if who acts chooses from a list. */
  async function listed<T extends Opening | StepResult>(seen: T): Promise<T> {
    if (!server.asksHints || seen.admissibleActions !== null) return seen;
    const { actions } = await asked((episode) => ask('/hints', { episode }, hintsShape));
    return { ...seen, admissibleActions: actions };
  }

  return {
    reset: async ({ alias, seed, mode }): Promise<Opening> => {
      if (closed) throw new EnvironmentError('gone', 'the environment was closed');
      const begin = async () => {
        const { episode } = course.episode === null ? await ask('/create', {}, episodeShape) : { episode: course.episode };
        course = { episode, steps: 0, earned: 0 };
        return ask('/reset', { episode, task: alias, seed }, openingShape);
      };
      const opened = await pass(mode, () =>
        // what was created before may be forgotten by now
        begin().catch((error: unknown) => {
          if (!(error instanceof EnvironmentError) || error.code !== 'gone') throw error;
          course = NEW;
          return begin();
        }),
      );
      return listed(openingOf(server, alias, opened));
    },
    ...(description.replay
      ? {
          replay: async ({ alias, seed, mode }, actions) => {
            if (closed) throw new EnvironmentError('gone', 'the environment was closed');
            await leave();
            const asked = { task: alias, seed, actions };
            const { episode, opening, steps } = await pass(mode, () => ask('/replay', asked, replayShape));
            course = { episode, steps: steps.length, earned: 0 };
            const results = steps.map((answer) => {
              const { result, earned } = resultOf(server, answer, course.earned);
              course = { ...course, earned };
              return result;
            });
            return { opening: openingOf(server, alias, opening), steps: results };
          },
        }
      : {}),
    step: async (action) => {
      const result = await asked(async (episode) => {
        const answer = await ask('/step', { episode, n: course.steps, action }, stepShape);
        const { result, earned } = resultOf(server, answer, course.earned);
        course = { episode, steps: course.steps + 1, earned };
        return result;
      });
      return result.terminated || result.truncated ? result : listed(result);
    },
    parse: (response) =>
      description.response === 'react'
        ? parseThoughtAction(response)
        : { thought: '', action: response, wellFormatted: response.trim() !== '' },
    ...(description.fork
      ? {
          clone: () =>
            asked(async (episode) => {
              const copy = await ask('/fork', { episode }, episodeShape);
              if (copy.episode === episode)
                throw new EnvironmentError(
                  'claim',
                  'POST /fork: the copy is the episode itself; answer the id of a new one, or describe "fork": false',
                );
              const { steps } = await ask('/observe', copy, observedShape);
              if (steps === course.steps) return openServerEpisode(server, { ...course, ...copy });
              throw new EnvironmentError(
                'claim',
                `POST /fork: the copy has taken ${steps} steps and its original ${course.steps}; describe "fork": false where an episode cannot be copied`,
              );
            }),
        }
      : {}),
    ...(description.expert
      ? {
          expertAction: async () => (await asked((episode) => ask('/expert', { episode }, expertShape))).action,
          planLength: async () => (await asked((episode) => ask('/expert', { episode }, expertShape))).length,
        }
      : {}),
    close: async () => {
      closed = true;
      await leave();
    },
  };
}

function openingOf({ description, traits }: EnvironmentServer, alias: string, answer: OpeningAnswer): Opening {
  return {
    instruction: answer.instruction ?? description.instruction,
    observation: answer.observation,
    ...(answer.pictures ? { pictures: answer.pictures } : {}),
    goal: answer.goal ?? cutText(answer.observation, 10_000),
    depth: answer.depth ?? traits.get(alias)?.depth ?? null,
    split: answer.split ?? traits.get(alias)?.split ?? null,
    kind: answer.kind ?? traits.get(alias)?.kind ?? null,
    admissibleActions: answer.actions,
    stateHash: answer.state === null ? null : sha256Hex(answer.state),
  };
}

function resultOf(
  { description }: EnvironmentServer,
  answer: StepAnswer,
  before: number,
): { readonly result: StepResult; readonly earned: number } {
  const { kind, scale } = description.reward;
  const value = rewardOf('reward', answer.reward, scale);
  const components = Object.entries(answer.rewards).map(([component, given]) => {
    if (!description.components.includes(component))
      throw outside(`rewards.${component}`, given, 'is no component of the description: add it there');
    return {
      component,
      value: rewardOf(`rewards.${component}`, given, scale),
      scorer: { name: description.name, revision: PROTOCOL },
    };
  });
  return {
    earned: value,
    result: {
      observation: answer.observation,
      ...(answer.pictures ? { pictures: answer.pictures } : {}),
      reward: { value, raw: answer.reward, scale, kind, ...(kind === 'cumulative' ? { gain: value - before } : {}) },
      ...(components.length > 0 ? { components } : {}),
      ...(answer.reason === undefined ? {} : { reason: answer.reason }),
      terminated: answer.terminated,
      truncated: answer.truncated,
      success: answer.terminated || answer.truncated ? answer.success : null,
      executable: answer.executable,
      admissibleActions: answer.actions,
      stateHash: answer.state === null ? null : sha256Hex(answer.state),
    },
  };
}

function rewardOf(field: string, given: number, scale: number): number {
  const value = given / scale;
  if (Number.isFinite(value) && Math.abs(value) <= 1) return value;
  throw outside(field, given, `lies outside of −1 to 1 when it is divided by ${scale}: name the largest one as reward.scale`);
}

function outside(field: string, given: number, what: string): EnvironmentError {
  return new EnvironmentError('claim', `POST /step: ${field} ${given} ${what}`); // the description says otherwise: it is untrue of every task
}
