import { afterEach, describe, expect, test } from '@jest/globals';
import { judgePrompt, judgeSlots } from '../domain/revision/judge-prompt.ts';
import type { SearchedStep } from '../domain/search/search-tree.ts';
import { type OpenAiServer, type ServerOptions, startOpenAiServer } from '../testing/openai-server.ts';
import { createJudge, type JudgeRequest, type PlanAround, parseJudgeText, planJudge } from './judge.ts';

const never = new AbortController().signal;
const open: OpenAiServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

function request(planAround: PlanAround | null = null, words = 3): JudgeRequest {
  const steps = ['a', 'b', 'c'].map(
    (letter): SearchedStep => ({
      stepId: letter,
      parentStepId: null,
      score: 0,
      disaster: false,
      terminal: false,
      visits: 1,
      valueSum: 0,
      response: `Action: do ${letter}`,
      action: `do ${letter}`,
      observation: `${letter} `.repeat(words).trim(),
    }),
  );
  return { steps, index: 2, slots: judgeSlots('Make it.', steps, 2), planAround: async () => planAround };
}

describe('the planner as judge', () => {
  test.each([
    ['good', 3, 2, true],
    ['good', null, 2, true],
    ['uncertain', 3, 3, true],
    ['uncertain', null, null, true],
    ['bad', 3, 4, true],
    ['bad', 3, null, true],
    ['bad', 3, 3, false],
  ] as const)(
    'a step is %s when the plan has %s actions before it and %s after it, executed: %s',
    async (verdict, before, after, executable) => {
      const judged = await planJudge('w').judge(request({ before, after, executable }), never);
      expect(judged.verdict).toBe(verdict);
      expect(judged.reply).toContain(`Judgement: ${verdict.charAt(0).toUpperCase()}${verdict.slice(1)}`);
    },
  );

  test('the strict judge, named differently, calls a step bad that does not shorten the plan', async () => {
    const strict = planJudge('w', 'strict');
    const around = (after: number) => request({ before: 3, after, executable: true });
    expect([(await strict.judge(around(3), never)).verdict, (await strict.judge(around(2), never)).verdict]).toEqual([
      'bad',
      'good',
    ]);
    expect((await strict.judge(around(3), never)).reply).toContain('Judgement: Bad');
    expect((await createJudge(parseJudgeText('planner-strict', null), 'w'))?.name).toBe(strict.name);
    expect(strict.name).not.toBe(planJudge('w').name);
  });

  test('the judge reports that it cannot judge where there is no plan', async () => {
    await expect(planJudge('w').judge(request(null), never)).rejects.toMatchObject({ name: 'JudgeUnfit' });
  });

  test('the judge of another world has another name', () => {
    expect(planJudge('x').revision).not.toBe(planJudge('y').revision);
  });
});

describe('a model as judge', () => {
  async function given(options: Partial<ServerOptions>, settings: object = {}) {
    const server = await startOpenAiServer({ reply: () => 'Closer.\nJudgement: <Good>', ...options });
    open.push(server);
    const text = JSON.stringify({ kind: 'openai', model: 'm', baseUrl: server.url, attempts: 1, ...settings });
    const judge = await createJudge(parseJudgeText(text, null), 'w');
    if (!judge) throw new Error('a model is a judge');
    return { server, judge };
  }

  test('the model is asked with one user message at temperature 0, and its label is read', async () => {
    const { server, judge } = await given({});
    const asked = request();
    const judged = await judge.judge(asked, never);
    expect(judged).toMatchObject({ verdict: 'good', reply: 'Closer.\nJudgement: <Good>' });
    expect(judged.act?.asked).toMatchObject({ model: 'm', messages: [{ role: 'user' }] });
    expect(JSON.parse(server.requests[0]?.text ?? '')).toEqual({
      model: 'm',
      messages: judgePrompt(asked.slots),
      temperature: 0,
      n: 1,
      seed: 0,
    });
  });

  test.each(['', 'Bad. It is not good.', '??', 'Judgement: <Good/Bad/Uncertain>'])(
    'the answer %j is no verdict',
    async (reply) => {
      const { judge } = await given({ reply: () => reply });
      expect(await judge.judge(request(), never)).toMatchObject({ verdict: 'unparsed', reply });
    },
  );

  test('a log that is too long loses its oldest steps first', async () => {
    const { server, judge } = await given({ contextTokens: 330 });
    expect((await judge.judge(request(null, 60), never)).verdict).toBe('good');
    const [first, last] = [server.requests.at(0), server.requests.at(-1)].map((one) => one?.body?.messages[0]?.content ?? '');
    expect(first).toContain('Action: do a\n');
    expect(last).not.toContain('Action: do a\n');
    expect(last).toContain('Current_Action: do c\n');
  });

  test('a model that cannot answer at any length is an error', async () => {
    const { judge } = await given({ contextTokens: 20 });
    await expect(judge.judge(request(), never)).rejects.toMatchObject({ name: 'PolicyError', code: 'context-overflow' });
  });

  test('another output limit makes another judge, so that a truncated verdict is not reused', async () => {
    const revisions = await Promise.all(
      [{}, { maxTokens: 50 }, { maxTokens: 500 }].map(async (s) => (await given({}, s)).judge.revision),
    );
    expect(new Set(revisions).size).toBe(3);
  });
});

describe('names of judges', () => {
  test('`self` names the model that acted', () => {
    const acting = 'openai:qwen@http://127.0.0.1:1/v1';
    expect(parseJudgeText('self', acting)).toEqual({ kind: 'model', text: acting });
    expect(parseJudgeText('planner', acting)).toEqual({ kind: 'planner' });
    expect(parseJudgeText('direct', null)).toEqual({ kind: 'direct' });
  });

  test.each([
    ['self', 'planner:0.4', /the run's policy planner:0\.4 is no model/],
    ['self', null, /does not say which policy acted/],
    ['nobody', null, /there is no "nobody"; name planner/],
    ['{"kind":"random"}', null, /there is no/],
    ['openai:m', null, /needs a model and an address/],
  ] as const)('%s in a run of %s is refused with the remedy', (text, acting, message) => {
    expect(() => parseJudgeText(text, acting)).toThrow(message);
  });

  test('`direct` asks no judge', async () => {
    expect(await createJudge({ kind: 'direct' }, 'w')).toBeNull();
  });
});
