import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { composePrompt, pastSteps, TEMPLATE_VERSIONS } from './compose-prompt.ts';
import type { ComposedPrompt, PromptInput, TemplateName } from './prompt-template.ts';

const NAMES: readonly TemplateName[] = ['alfworld', 'search-qa', 'textcraft', 'webshop'];

const home = {
  task: 'put some spraybottle on toilet',
  ...pastSteps('You are in a room.\n\nYour task is to: put some spraybottle on toilet.', [
    { action: 'go to cabinet 1', observation: 'The cabinet 1 is closed.' },
    { action: 'open cabinet 1', observation: 'In it, you see\na cloth 1.' },
    { action: 'take cloth 1', observation: 'Nothing happens.' },
  ]),
  admissibleActions: ['go to cabinet 2', 'help', 'look'],
  historyLength: 50,
  mode: 'image',
  compression: true,
} satisfies PromptInput;

const quest = {
  task: 'Where is Teide?',
  ...pastSteps('Where is Teide?', [
    { action: '<search>Teide</search>', observation: '<information>{"result": "Doc 1: Tenerife"}</information>' },
    { action: '<search>Tenerife</search>', observation: 'Canary Islands' },
  ]),
  admissibleActions: null,
  historyLength: 4,
  mode: 'text',
  compression: false,
} satisfies PromptInput;

const opening = (input: PromptInput): PromptInput => ({ ...input, steps: [], observation: input.steps[0]?.observation ?? '' });
const parts = (prompt: ComposedPrompt): string[] =>
  prompt.messages.flatMap((message) => message.parts.map((part) => (part.kind === 'text' ? part.text : `[${part.kind}]`)));
const textOf = (prompt: ComposedPrompt): string => parts(prompt).at(-1) ?? '';

describe('the shown history', () => {
  test('a record of ALFWorld is one line of what the agent saw and did, and each line break becomes a blank', () => {
    const { records, historyText } = composePrompt('alfworld', home);
    expect(records).toEqual([
      '[Observation]: You are in a room.  Your task is to: put some spraybottle on toilet. [Action]: go to cabinet 1',
      '[Observation]: The cabinet 1 is closed. [Action]: open cabinet 1',
      '[Observation]: In it, you see a cloth 1. [Action]: take cloth 1',
    ]);
    expect(historyText).toBe(records.join('\n'));
  });

  test('a record of Search is what the agent did and its result, followed by an empty line', () => {
    const { records, historyText } = composePrompt('search-qa', quest);
    expect(records).toEqual([
      '<search>Teide</search> <information>{"result": "Doc 1: Tenerife"}</information>',
      '<search>Tenerife</search> <information>Canary Islands</information>',
    ]);
    expect(historyText).toBe(`${records[0]}\n\n${records[1]}\n`);
  });

  test('an unreadable answer without a result leaves a blank record', () => {
    const blank = { ...quest, ...pastSteps('q', [{ action: '', observation: '' }]) };
    expect(composePrompt('search-qa', blank).historyText.trim()).toBe('');
  });

  test('the history contains the requested number of last steps', () => {
    const whole = composePrompt('alfworld', home).records;
    for (const length of [0, 1, 2, 3, 9])
      expect(composePrompt('alfworld', { ...home, historyLength: length }).records).toEqual(
        length === 0 ? [] : whole.slice(-length),
      );
  });

  test.each([-1, 1.5, Number.NaN])('a history length of %d is refused', (historyLength) => {
    expect(() => composePrompt('alfworld', { ...home, historyLength })).toThrow(RangeError);
  });

  test('the history contains the last result of a search, but not the last observation of ALFWorld', () => {
    expect(composePrompt('search-qa', quest).historyText).toContain('Canary Islands');
    expect(composePrompt('alfworld', home).historyText).not.toContain('Nothing happens.');
    expect(textOf(composePrompt('alfworld', home))).toContain('You are at step 4. What you see now:\nNothing happens.');
  });
});

describe('image mode', () => {
  test('image mode puts the image first and no word of the history into the text', () => {
    for (const name of NAMES) {
      const prompt = composePrompt(name, { ...home, mode: 'image' });
      expect(prompt.messages.map((message) => message.role)).toEqual(['user']);
      expect(parts(prompt)[0]).toBe('[history-image]');
      expect(textOf(prompt)).toContain('You have taken 3 steps so far. The image above shows the last 3, from the oldest on');
      expect(textOf(prompt)).not.toContain('open cabinet 1');
    }
  });

  test('image mode sends no image at the first step, or a blank one on request', () => {
    expect(parts(composePrompt('alfworld', opening(home)))).toHaveLength(1);
    const published = composePrompt('alfworld', { ...opening(home), emptyHistory: 'blank-image' });
    expect(parts(published)).toEqual(['[history-image]', textOf(composePrompt('alfworld', opening(home)))]);
    expect(published.historyText).toBe('');
  });

  test('image mode asks for a factor at every step when compression is on, and only then', () => {
    for (const name of NAMES) {
      for (const input of [home, opening(home)]) {
        const asked = textOf(composePrompt(name, input));
        expect(asked).toContain('<compression>1.1</compression>');
        expect(asked.startsWith(textOf(composePrompt(name, { ...input, compression: false })))).toBe(true);
        expect(textOf(composePrompt(name, { ...input, compression: false }))).not.toContain('compress');
      }
    }
  });
});

describe('text mode', () => {
  test('text mode writes out the history and never asks for a factor, since there is no image', () => {
    for (const name of NAMES) {
      const prompt = composePrompt(name, { ...home, mode: 'text', compression: true });
      expect(parts(prompt)).toHaveLength(1);
      expect(textOf(prompt)).toContain(`${prompt.historyText.trimEnd()}\n\n`);
      expect(textOf(prompt)).not.toContain('<compression>');
      expect(prompt.template).toEqual({ name, version: TEMPLATE_VERSIONS[name], mode: 'text', compression: false });
    }
  });
});

test('the prompt lists actions as quoted strings, one per line, without `help`', () => {
  expect(textOf(composePrompt('alfworld', home))).toContain("What you can do now:\n['go to cabinet 2'\n 'look']");
  expect(textOf(composePrompt('alfworld', { ...home, admissibleActions: null }))).not.toContain('What you can do now');
});

test('the prompt names the task once: in the opening if that contains it, else separately', () => {
  const count = (text: string): number => text.split(home.task).length - 1;
  expect(count(textOf(composePrompt('alfworld', opening(home))))).toBe(1);
  expect(count(textOf(composePrompt('alfworld', home)))).toBe(1);
  expect(textOf(composePrompt('alfworld', { ...opening(home), observation: 'A room.' }))).toContain(`Your task: ${home.task}`);
});

test('a TextCraft prompt repeats the opening once the shown history has lost it', () => {
  const opened = home.steps[0]?.observation ?? 'none';
  expect(textOf(composePrompt('textcraft', { ...home, historyLength: 2 }))).toContain(
    `What you were told at the start:\n${opened}`,
  );
  expect(textOf(composePrompt('textcraft', home))).not.toContain('What you were told at the start');
});

test('a changed wording has a new version', () => {
  // When this fails, the words have changed: raise TEMPLATE_VERSIONS and write the new digest next to the new version.
  const digests = NAMES.map((name) => {
    const texts = [
      home,
      opening(home),
      { ...home, historyLength: 0 },
      { ...home, mode: 'text' as const },
      { ...home, historyLength: 1 },
    ];
    const hash = createHash('sha256').update(JSON.stringify(texts.map((input) => composePrompt(name, input).messages)));
    return [`${name}@${TEMPLATE_VERSIONS[name]}`, hash.digest('hex').slice(0, 16)];
  });
  expect(Object.fromEntries(digests)).toEqual({
    'alfworld@1': '93191624cd86be34',
    'search-qa@1': 'ad124c2c440f57ad',
    'textcraft@1': 'a5d01d14717ed4d0',
    'webshop@1': 'b4921ff17b010c57',
  });
});
