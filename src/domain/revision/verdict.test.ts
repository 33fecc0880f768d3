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
  ])('%j is %s', (reply, verdict) => {
    expect(parseVerdict(reply)).toBe(verdict);
  });

  test.each([
    ['an empty reply', ''],
    ['no verdict at all', 'The agent did something good here.'],
    ['nothing behind the marker', 'It was bad. Judgement:'],
    ['a negated label', 'Judgement: not good'],
    ['a label inside a word', 'Judgement: goodness'],
    ['two labels offered', 'Judgement: Good/Bad'],
    [
      'the template of the prompt handed back',
      judgePrompt({ taskDescription: '', log: '', action: '', observation: '' })[0]?.content ?? '',
    ],
  ])('%s is unparsed, not bad', (_what, reply) => {
    expect(parseVerdict(reply)).toBe('unparsed');
  });
});

test('as published, the substring decides: "not good" accepts, the US spelling searches the whole rationale', () => {
  expect(parseVerdictAsPublished('Judgement: not good').verdict).toBe('good');
  expect(parseVerdictAsPublished('This was good thinking. Judgment: Bad').verdict).toBe('good');
  expect(parseVerdictAsPublished('').verdict).toBe('bad');
});
