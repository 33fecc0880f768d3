import { describe, expect, test } from '@jest/globals';
import { lastCodePoints } from '../text/python-strip.ts';
import { answerF1 } from './exact-match.ts';
import { scoreGsm8k } from './gsm8k.ts';
import { scoreQaFormat } from './qa-em-format.ts';
import { goldsOf, type ScoredEpisode } from './scored-episode.ts';
import { findScorer, listScorers, SCORERS, scorerOfSource } from './scorers.ts';

const call = '<think>a</think>\n<tool_call>{}</tool_call>';
const answer = '<think>b</think>\n<answer>Paris</answer>';
const chatOf = (...turns: string[]) => turns.map((turn) => `<|im_start|>assistant\n${turn}<|im_end|>\n`).join('');
const episode = (own: Partial<ScoredEpisode> = {}): ScoredEpisode => ({
  question: 'Where?',
  dataSource: 'unknown',
  chat: chatOf(call, answer),
  responses: [call, answer],
  answer: 'Paris',
  groundTruth: 'Paris',
  golds: ['Paris'],
  invalidActions: 0,
  environmentScore: null,
  success: null,
  ...own,
});
const scored = (name: string, own: Partial<ScoredEpisode> = {}) => findScorer(name)?.score(episode(own)).value;

describe('names of scorers', () => {
  test('a bare name selects the first revision, @ selects another one, and nothing else is found', () => {
    expect(findScorer('qa-em-format')?.revision).toBe('legacy-1');
    expect(findScorer('qa-em-format@report-1')?.revision).toBe('report-1');
    expect(findScorer('qa-em-format@legacy')).toBeNull();
    expect(findScorer('toString')).toBeNull();
    expect(listScorers().split(', ')).toHaveLength(SCORERS.length);
    expect(new Set(listScorers().split(', ')).size).toBe(SCORERS.length);
  });

  test('a data set has the scorer that Agent-R1 assigns to it', () => {
    expect(scorerOfSource('hotpotqa/hotpot_qa').name).toBe('qa-em-format');
    expect(scorerOfSource('openai/gsm8k').name).toBe('gsm8k-format');
    expect(scorerOfSource('BytedTsinghua-SIA/DAPO-Math-17k').name).toBe('retool');
    expect(scorerOfSource('constructor').name).toBe('exact-match');
  });
});

test.each<[string, Partial<ScoredEpisode>, number]>([
  ['qa-em-format', {}, 1],
  ['qa-em-format@seed-1', { chat: chatOf(answer) }, -0.5],
  ['qa-em-format@legacy-1', { chat: chatOf(answer) }, 0.5],
  ['qa-em-format@report-1', {}, 1],
  ['qa-em-format@report-1', { chat: chatOf('<tool_call>{}</tool_call>', answer) }, -0.5],
  ['qa-em-format@report-1', { golds: ['Lyon'] }, 0],
  ['exact-match', { answer: 'the paris.' }, 1],
  ['exact-match', { answer: null }, 0],
  ['exact-match@v0.1-1', { responses: ['Paris'] }, 1],
  ['exact-match@v0.1-1', { responses: ['<ANSWER>Paris</Answer>'] }, 1],
  ['answer-f1', { answer: 'Paris in France', golds: ['Paris, France'] }, 0.8],
  ['gsm8k-strict', { responses: ['#### 1,234'], golds: ['1234'] }, 1],
  ['gsm8k-flexible', { responses: ['#### 1,234'], golds: ['1234'] }, 0],
  ['retool', { chat: chatOf('<answer>so \\boxed{\\frac{3}{6}}</answer>'), golds: ['0.5'] }, 1],
  ['retool', { chat: chatOf('<answer>\\boxed{7}</answer>'), golds: ['8'] }, 0],
  ['retool', { chat: chatOf('\\boxed{8}'), golds: ['8'] }, -1],
  ['retool', { chat: chatOf('\\boxed{8} <answer>8</answer>'), golds: ['8'] }, -1],
  ['retool', { chat: '', golds: ['8'] }, -1],
  ['math-answer', { responses: ['\\boxed{7}', 'it is \\boxed{\\sqrt8}'], golds: ['3', '\\sqrt{8}'] }, 1],
  ['math-answer', { responses: ['\\boxed{8'], golds: ['8'] }, 0],
  ['search-r1-em', {}, 1],
  ['environment-outcome', { environmentScore: 0.25 }, 0.25],
  ['invalid-action', { invalidActions: 3 }, -0.1 * 3],
  ['compression', { responses: ['<compression>2</compression>', 'end'], success: true }, 0.01 * Math.log(2)],
])('%s scores its example as expected', (name, own, value) => {
  expect(scored(name, own)).toBeCloseTo(value, 12);
});

test('every scorer returns a finite number for any input', () => {
  for (const text of ['', '<answer>', '</answer><think>', '<|im_start|>assistant\n', '\ud800', '<think>'.repeat(20_000)])
    for (const { score } of SCORERS)
      for (const golds of [[], [''], ['Paris']]) {
        const given = episode({ chat: chatOf(text), responses: [text], answer: null, golds });
        expect(Number.isFinite(score(given).value)).toBe(true);
      }
});

test('a gold answer that normalises to nothing is contained in every answer, as published', () => {
  expect(scoreQaFormat(chatOf(answer), ['the'], 'legacy').answer).toBe(1);
});

test('F1 counts a repeated word once for each time that both texts contain it', () => {
  expect(answerF1('x x y', ['x x'])).toBeCloseTo(0.8, 12);
  expect(answerF1('', ['the'])).toBe(1);
  expect(answerF1('x', [])).toBe(0);
});

test('only the last 300 code points of a solution count', () => {
  expect(scoreGsm8k(`#### 7${' '.repeat(294)}`, '7', 'strict')).toBe(1);
  expect(scoreGsm8k(`#### 7${'😀'.repeat(294)}`, '7', 'strict')).toBe(1);
  expect(scoreGsm8k(`#### 7${'😀'.repeat(295)}`, '7', 'strict')).toBe(0);
  expect(lastCodePoints('a😀\udc00', 2)).toBe('😀\udc00');
});

test('a ground truth is a text, a number, a list or a target', () => {
  expect(goldsOf('a')).toEqual(['a']);
  expect(goldsOf(7)).toEqual(['7']);
  expect(goldsOf(['a', 1, null])).toEqual(['a', '1']);
  expect(goldsOf({ target: ['a', 'b'] })).toEqual(['a', 'b']);
  expect(goldsOf({ success: null })).toEqual([]);
  expect(goldsOf(null)).toEqual([]);
});
