import { describe, test } from '@jest/globals';
import { parseThoughtAction } from './domain/prompts/parse-thought-action.ts';
import { projectResponse } from './domain/prompts/project-response.ts';
import { parseVerdict, parseVerdictAsPublished } from './domain/revision/verdict.ts';
import { scoreGsm8kFormat } from './domain/reward/gsm8k.ts';
import { parseHermesCalls, parseRetoolCode } from './domain/tools/parse-calls.ts';
import { DESCRIPTORS } from './environments/agentgym/descriptors.ts';
import { parseResponse as parseOfServer } from './environments/agentgym/parse-response.ts';
import { parseResponse as parseSearch } from './environments/search-qa/parse-response.ts';
import { readAction } from './environments/search-qa/read-action.ts';
import { parsePolicySpec } from './policies/policy-spec.ts';
import { expectLinear } from './testing/expect-linear.ts';
import { parseTrajectoryQuery } from './usecases/datasets/export/parse-trajectory-query.ts';

const spec = (text: string) => parsePolicySpec(text);
const ignoring = (read: (text: string) => unknown) => (text: string) => {
  try {
    read(text);
  } catch {
    // what is refused is refused in time as well
  }
};

/** What reads texts of a model, a server or a client, whose length nobody has bounded. */
const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  'a command of TextCraft': parseThoughtAction,
  'a command without its factor': (text) => projectResponse('textcraft', text, { compression: true }),
  'an action of ALFWorld': (text) => projectResponse('alfworld', text, { compression: true }),
  'a search or answer': (text) => projectResponse('search-qa', text, { compression: true }),
  'a search with labels': parseSearch,
  'an action of Search': readAction,
  'a line for a server': (text) => parseOfServer('line', text),
  'a tag for a server': (text) => parseOfServer('tag', text),
  'a verdict': parseVerdict,
  'a verdict as published': parseVerdictAsPublished,
  'calls of tools': (text) => parseHermesCalls(`<tool_call>${text}</tool_call>`),
  'code of ReTool': parseRetoolCode,
  'a chat of GSM8K': (text) => scoreGsm8kFormat(`<|im_start|>assistant\n${text}`, '1'),
  'the name of a policy': ignoring((text) => spec(`planner:${text}`)),
  'a filter of an export': ignoring((text) => parseTrajectoryQuery({ returnMin: text })),
  ...Object.fromEntries(
    Object.values(DESCRIPTORS).map(({ name, goal }) => [
      `the goal of ${name}`,
      (text: string) => goal.exec(`Instruction: Your task is to: Question: ${text}`),
    ]),
  ),
};

const PIECES = [
  ...['`', '"', "*'", ' ', '\n', ' \n', '0', '1,', '[', '{"a":', '<think>', '<search>', '<answer>', '</answer>', '<tool_call>'],
  ...[
    '<tool_call>{',
    'Action:',
    'Action: \n',
    'Thought: a\nAction: ',
    'Judgement: ',
    'Judgment ',
    '\\boxed{',
    '\\boxed{ ',
    '#### 1',
  ],
  ...['<compression>', 'Instruction: ', 'Question: ', 'a b. ', '\nYour task is to: '],
];

describe('reading time', () => {
  test.each(Object.keys(READERS))('the time of %s grows with the length of the text, not with its square', (name) => {
    for (const piece of PIECES) expectLinear(READERS[name] ?? (() => undefined), piece);
  });

  test.each(Object.keys(READERS).filter((name) => name.startsWith('the goal of')))(
    'the time of %s grows linearly from its label on',
    (name) => {
      const read = READERS[name] ?? (() => undefined);
      for (const label of ['Instruction: ', 'Your task is to: ', 'Question: ', 'Goal: ', "Let's start "])
        expectLinear((text) => read(label + text), ' ');
    },
  );
});
