import { describe, expect, test } from '@jest/globals';
import { anActRequest } from '../testing/act-request.ts';
import { plannerPolicy } from './planner-policy.ts';
import type { Act, ActRequest, Policy } from './policy.ts';
import { randomPolicy } from './random-policy.ts';

const never = new AbortController().signal;
const actionOf = (act: Act): string => act.response.slice(act.response.indexOf('Action: ') + 8);
const actions = async (policy: Policy, request: ActRequest): Promise<string[]> =>
  (await policy.act(request, never)).map(actionOf);

describe('random policy', () => {
  test('the random policy draws every admissible action about equally often', async () => {
    const request = anActRequest({ n: 6_000 });
    const drawn = await actions(randomPolicy(), request);
    for (const action of request.admissibleActions ?? []) {
      const count = drawn.filter((other) => other === action).length;
      expect(Math.abs(count - 1_000)).toBeLessThan(5 * Math.sqrt(6_000 * (1 / 6) * (5 / 6)));
    }
  });

  test('equal seeds yield equal acts, and other seeds others', async () => {
    const draw = (seed: number) => randomPolicy().act(anActRequest({ n: 20, seed }), never);
    expect(await draw(5)).toEqual(await draw(5));
    expect(await draw(5)).not.toEqual(await draw(6));
  });

  test('the random policy writes a thought and an action as a model would', async () => {
    expect(await randomPolicy().act(anActRequest({ admissibleActions: ['inventory'] }), never)).toEqual([
      {
        response: 'Thought: I draw one of 1 possible actions.\nAction: inventory',
        tokens: null,
        usage: null,
        finishReason: 'stop',
      },
    ]);
  });

  test('the random policy refuses a state without candidates with the reason', async () => {
    for (const [admissibleActions, why] of [
      [null, 'lists no admissible actions'],
      [[], 'says that no action is admissible'],
    ] as const) {
      const asked = randomPolicy().act(anActRequest({ admissibleActions }), never);
      await expect(asked).rejects.toMatchObject({ code: 'no-candidates', message: expect.stringContaining(why) });
    }
  });

  test('the random policy stops on an aborted signal', async () => {
    await expect(randomPolicy().act(anActRequest(), AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
  });
});

describe('planner policy', () => {
  test('the planner without epsilon plays the expert first, then every other action once, then repeats', async () => {
    const request = anActRequest({ n: 8 });
    const played = await actions(plannerPolicy({ epsilon: 0 }), request);
    expect(played[0]).toBe('get 1 oak logs');
    expect(new Set(played.slice(0, 6))).toEqual(new Set(request.admissibleActions));
    expect(played.slice(6)).toEqual(played.slice(0, 2));
  });

  test('the planner errs as often as epsilon says', async () => {
    const policy = plannerPolicy({ epsilon: 0.3 });
    let expert = 0;
    for (let seed = 0; seed < 4_000; seed++)
      if ((await actions(policy, anActRequest({ seed })))[0] === 'get 1 oak logs') expert++;
    const rate = 0.7 + 0.3 / 6; // a drawn action is the expert's by chance one time in six
    expect(Math.abs(expert / 4_000 - rate)).toBeLessThan(5 * Math.sqrt((rate * (1 - rate)) / 4_000));
  });

  test('the planner plays the expert also where the environment lists no actions', async () => {
    const request = anActRequest({ admissibleActions: null, n: 2 });
    expect(await actions(plannerPolicy({ epsilon: 1 }), request)).toEqual(['get 1 oak logs', 'get 1 oak logs']);
  });

  test('the planner draws where there is no way to the goal, and refuses when nothing can be drawn', async () => {
    const lost = { expertAction: async () => null };
    const played = await actions(plannerPolicy({ epsilon: 0 }), anActRequest({ ...lost, n: 6 }));
    expect(new Set(played).size).toBe(6);
    const asked = plannerPolicy({ epsilon: 0 }).act(anActRequest({ ...lost, admissibleActions: null }), never);
    await expect(asked).rejects.toMatchObject({ code: 'no-candidates' });
  });

  test('an epsilon that is not a probability is refused', () => {
    for (const epsilon of [-0.1, 1.1, Number.NaN]) expect(() => plannerPolicy({ epsilon })).toThrow(RangeError);
  });
});
