import { beforeAll, describe, expect, test } from '@jest/globals';
import { buildIndex, readIndexes } from '../../src/projections/analysis/build-indexes.ts';
import { buildTextIndexes, readTextMark } from '../../src/projections/analysis/text-indexes.ts';
import { projections } from '../../src/projections/registry.ts';
import { useTestDatabase } from '../../src/testing/use-test-database.ts';
import { answerQuestions } from './answer-questions.ts';
import { explainQuestion } from './explain-questions.ts';
import { fillAnswers, settleAnswers } from './fill-answers.ts';

const FILL = { trees: 400, runs: 20, tasks: 20 }; // 32,000 steps: enough that the planner prefers an index to the table
const MARK = new Date(0);
const database = useTestDatabase({ emptied: 'never' });

beforeAll(async () => {
  await fillAnswers(database.db, FILL);
  for (const index of await readIndexes(database.db, projections, 'actions')) await buildIndex(database, index);
  await buildTextIndexes(database);
  await settleAnswers(database.db);
});

describe('plans over 32,000 steps', () => {
  const LARGE = 8_000;
  test.each([
    ['steps by a rare word', /^steps_text_/],
    ['steps by action', /^steps_action$/],
    ['steps of a run, by action', /^steps_action$/],
    ['steps of a run', /^steps_(of_tree|parent)$/],
    ['steps by reward component', /^rewards_(component|step)$/], // by its rewards, or step by step in the order of the page
    ['steps the last taken', /^steps_taken$/],
    ['steps of a subtree, by visits', /^steps_parent$/],
    ['toolCalls by tool', /^tool_calls_tool$/],
    ['toolCalls by tool, the slowest', /^tool_calls_duration$/],
    ['rollouts of a task', /^rollouts_of_tree$/],
    ['trees of a run, by return variance', /^returns_run_tree$/],
    ['aggregate(by: DEPTH) of one run', /^steps_of_tree$/],
  ])('the question "%s" is answered by its index', async (name, index) => {
    const mark = await readTextMark(database.db);
    const question = answerQuestions({ ...FILL, mark }).find((each) => each.name === name);
    if (!question) throw new Error(`there is no question ${name}`);
    const { scanned, indexes } = await explainQuestion(database, question, LARGE);
    expect({ scanned, used: indexes.filter((used) => index.test(used)).length > 0, indexes }).toEqual({
      scanned: [],
      used: true,
      indexes,
    });
  });

  test('no question reads a large table from end to end', async () => {
    const mark = await readTextMark(database.db);
    expect(mark?.getTime()).toBeGreaterThan(MARK.getTime());
    const scans: string[] = [];
    for (const question of answerQuestions({ ...FILL, mark })) {
      if (question.name === 'steps counted up to 1,000, by tool') continue; // of 1,280 that called it: nearly all are read
      const { scanned } = await explainQuestion(database, question, LARGE);
      scans.push(...scanned.map((table) => `${question.name}: ${table}`));
    }
    expect(scans).toEqual([]);
  });
});
