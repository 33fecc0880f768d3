import { describe, expect, test } from '@jest/globals';
import { judgePrompt } from './judge-prompt.ts';
import { parseVerdict, parseVerdictAsPublished, type Verdict } from './verdict.ts';

describe('parseVerdict', () => {
  test.each<[string, Verdict]>([
    ['Reason. Judgement: Good', 'good'],
    ['Reason.\nJudgement: <Bad>', 'bad'],
    ['Judgment: Uncertain.', 'uncertain'],
    ['**Judgement:** **Bad**', 'bad'],
    ['**Judgement**: Bad', 'bad'],
    ['{"judgement": "good"}', 'good'],
    ['judgement：bad', 'bad'],
    ['Judgement:\n\n<Good>', 'good'],
    ['Judgement: Good\nNo, wait.\nJudgement: Bad', 'bad'],
    ['Judgement: Bad. It is not good.', 'bad'],
    ['BAD', 'bad'],
    ['<Uncertain>', 'uncertain'],
    ['Judgement: BAD, although uncertain', 'bad'],
    ['Judgement: Good, good progress', 'good'],
    ['Judgment: “Bad”', 'bad'],
    ['“Judgement”: «Uncertain».', 'uncertain'],
    ['Judgement: $\\boxed{Bad}$', 'bad'],
    ['Judgement: \\(\\boxed{\\text{Good}}\\)', 'good'],
    ['$\\boxed{Bad}$', 'bad'],
    ['‘Good’', 'good'],
    ['The agent repeats itself. It was good before.\n\n$\\boxed{Bad}$', 'bad'],
    ['\\boxed{Good} at first, then \\boxed{\\textbf{bad}}', 'bad'],
    ['Judgement: the step is wrong, so \\boxed{Bad}', 'bad'],
  ])('%j is read as %s', (reply, verdict) => {
    expect(parseVerdict(reply)).toBe(verdict);
  });

  test.each([
    ['an empty reply', ''],
    ['no verdict at all', 'The agent did something good here.'],
    ['nothing behind the marker', 'It was bad. Judgement:'],
    ['a negated label', 'Judgement: not good'],
    ['a label inside a word', 'Judgement: goodness'],
    ['two labels offered', 'Judgement: Good/Bad'],
    ['two labels offered in a box', 'Judgement: $\\boxed{Good/Bad}$'],
    ['a box with another answer', 'It is not good: $\\boxed{42}$'],
    ['a label in quotes within a sentence', 'The agent called it “Bad” at first.'],
    [
      'the template of the prompt handed back',
      judgePrompt({ taskDescription: '', log: '', action: '', observation: '' })[0]?.content ?? '',
    ],
  ])('%s is unparsed, not bad', (_what, reply) => {
    expect(parseVerdict(reply)).toBe('unparsed');
  });
});

test('the published rule follows the substring: "not good" accepts, and the US spelling searches the whole rationale', () => {
  expect(parseVerdictAsPublished('Judgement: not good').verdict).toBe('good');
  expect(parseVerdictAsPublished('This was good thinking. Judgment: Bad').verdict).toBe('good');
  expect(parseVerdictAsPublished('').verdict).toBe('bad');
});
