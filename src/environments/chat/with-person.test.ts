import { describe, expect, test } from '@jest/globals';
import type { Environment, EnvironmentKind, StepResult } from '../environment.ts';
import type { Person, PersonReply, TurnOutcome } from './person.ts';
import { type RecordedTurn, withPerson } from './with-person.ts';

/** A person with these lines, who then ends. */
function saying(...lines: readonly string[]): Person & { readonly seen: TurnOutcome[] } {
  const left = [...lines];
  const seen: TurnOutcome[] = [];
  return {
    seen,
    show: (happened) => void seen.push(happened),
    next: async (): Promise<PersonReply> => {
      const text = left.shift();
      return text === undefined ? { kind: 'ends', reason: 'the input ended' } : { kind: 'says', text };
    },
  };
}

const RESULT: StepResult = {
  observation: '',
  reward: { value: 0, raw: 0, scale: 1, kind: 'final' },
  terminated: false,
  truncated: false,
  success: null,
  executable: true,
  admissibleActions: null,
  stateHash: null,
};

/** Answers each action as the function says. */
function worldOf(answer: (action: string) => Partial<StepResult>, kind: Partial<EnvironmentKind> = {}): EnvironmentKind {
  const create = async (): Promise<Environment> => ({
    reset: async () => ({
      instruction: '',
      observation: kind.needsPerson ? '' : 'a cave',
      goal: '',
      depth: null,
      split: null,
      admissibleActions: null,
      stateHash: null,
    }),
    step: async (action) => ({ ...RESULT, ...answer(action) }),
    parse: (action) => ({ thought: '', action, wellFormatted: true }),
    close: async () => undefined,
  });
  return { name: 'world', fingerprint: 'f', taskAliases: ['1'], create, close: async () => undefined, ...kind };
}

const START = { alias: '1', seed: 0 };
const chat = () =>
  worldOf((said) => (said.includes('call') ? { observation: '42' } : { awaitsPerson: true }), { needsPerson: true });

describe('withPerson', () => {
  test('a chat waits for the person behind a response that calls nothing, and what they say is the observation', async () => {
    const person = saying('thanks');
    const episode = await withPerson(chat(), person, { opening: 'six times seven?' }).create();
    expect(await episode.reset(START)).toMatchObject({ observation: 'six times seven?', goal: 'six times seven?' });
    expect(await episode.step('call')).toMatchObject({ observation: '42', terminated: false });
    expect(await episode.step('it is 42')).toMatchObject({ observation: 'thanks', terminated: false });
    expect(await episode.step('bye')).toMatchObject({
      observation: '',
      terminated: true,
      truncated: false,
      reason: 'the input ended',
    });
    expect(person.seen.map((each) => (each.kind === 'step' ? each.action : each.kind))).toEqual(['call', 'it is 42', 'bye']);
  });

  test('in an environment the person adds to what it says, an empty line lets the policy act, and an end cuts the episode', async () => {
    const world = worldOf((action) => ({
      observation: `you ${action}`,
      stateHash: 'a'.repeat(64),
      terminated: action === 'win',
    }));
    const episode = await withPerson(world, saying('left', ''), { opening: 'go' }).create();
    expect(await episode.reset(START)).toMatchObject({ observation: 'a cave\n\nUser: go' });
    const first = await episode.step('look');
    expect(first.observation).toBe('you look\n\nUser: left');
    expect(first.stateHash).not.toBe('a'.repeat(64)); // another person may say something else
    expect(await episode.step('walk')).toMatchObject({ observation: 'you walk' });
    expect(await episode.step('rest')).toMatchObject({ observation: 'you rest', truncated: true, terminated: false });
  });

  test('an episode that the environment ends is not asked about', async () => {
    const world = worldOf((action) => ({ observation: 'done', terminated: action === 'win', success: true }));
    const episode = await withPerson(world, saying(), { opening: '' }).create();
    await episode.reset(START);
    expect(await episode.step('win')).toMatchObject({ observation: 'done', terminated: true, success: true });
  });

  test('what is on record is said again without asking or showing, and the person goes on behind it', async () => {
    const turns: RecordedTurn[] = [
      { observation: 'six times seven?', termination: 'none' },
      { observation: '42', termination: 'none' },
      { observation: 'thanks', termination: 'none' },
    ];
    const person = saying('once more');
    const kind = withPerson(chat(), person, { turns });
    for (const walk of [1, 2]) {
      const episode = await kind.create(); // the opening is compared first, then the way is walked
      expect((await episode.reset(START)).observation).toBe('six times seven?');
      expect((await episode.step('call')).observation).toBe('42');
      expect((await episode.step('it is 42')).observation).toBe('thanks');
      expect(person.seen).toHaveLength(walk - 1);
      expect((await episode.step('welcome')).observation).toBe('once more');
    }
    expect(person.seen).toHaveLength(1);
  });

  test('a kind that inherits its fields, as those of modules do, keeps them', () => {
    const inheriting = Object.assign(Object.create(worldOf(() => ({}))) as EnvironmentKind, { fingerprint: 'of the file' });
    const { name, fingerprint, taskAliases } = withPerson(inheriting, saying(), {});
    expect([name, fingerprint, taskAliases]).toEqual(['world', 'of the file', ['1']]);
  });

  test('an environment that answers otherwise than was recorded is not covered up', async () => {
    const turns: RecordedTurn[] = [
      { observation: 'a cave\n\nUser: go', termination: 'none' },
      { observation: 'you look\n\nUser: left', termination: 'none' },
    ];
    const world = worldOf(() => ({ observation: 'you fall' }));
    const episode = await withPerson(world, saying(), { turns }).create();
    expect((await episode.reset(START)).observation).toBe('a cave\n\nUser: go');
    expect((await episode.step('look')).observation).toBe('you fall');
  });

  test('a recorded end is an end again', async () => {
    const turns: RecordedTurn[] = [
      { observation: 'hello', termination: 'none' },
      { observation: '', termination: 'terminated' },
    ];
    const episode = await withPerson(chat(), saying(), { turns }).create();
    await episode.reset(START);
    expect(await episode.step('hi')).toMatchObject({ observation: '', terminated: true });
  });
});
