import { describe, expect, test } from '@jest/globals';
import type {
  Element,
  MakeElement,
  Render,
  RendererInput,
  RendererOutput,
  RendererStep,
} from '../../studio/src/renderer/renderer.ts';
import { givenOf } from '../../studio/src/renderer/renderer.ts';
import { render as alfworld } from '../../studio/src/renderer/shipped/alfworld.ts';
import { render as searchQa } from '../../studio/src/renderer/shipped/search-qa.ts';
import { render as textcraft } from '../../studio/src/renderer/shipped/textcraft.ts';

const h: MakeElement = (tag, attributes, ...children) => ({ tag, attributes, children });
const task = { environment: 'e', alias: '1', goal: 'the goal', instruction: '' };

function given(
  turns: readonly (readonly [action: string, observation: string])[],
  at = turns.length - 1,
  reward = 0,
): RendererInput {
  const steps = turns.map(
    ([action, observation], depth): RendererStep => ({
      depth,
      action,
      observation,
      thought: '',
      executable: true,
      termination: 'none',
      stateHash: null,
      toolCalls: [],
      rewards: depth === turns.length - 1 ? [{ component: 'environment', value: reward }] : [],
    }),
  );
  return givenOf(task, steps, at);
}

/** The text of what a renderer returned, with `[class: …]` around elements that have one. */
function textOf(shown: RendererOutput): string {
  if (shown === null || shown === undefined || typeof shown === 'boolean') return '';
  if (typeof shown !== 'object') return String(shown);
  if (Array.isArray(shown)) return shown.map(textOf).join('');
  const { tag, attributes, children } = shown as Element; // no list
  if (tag === 'style') return '';
  const text = textOf(children);
  const name = tag === 'mark' ? 'mark' : attributes?.class;
  return typeof name === 'string' && name.trim() !== '' ? `[${name.trim()}: ${text}]` : text;
}
const drawn = async (render: Render, what: RendererInput) => textOf(await render(what, h));

describe('the renderer of TextCraft', () => {
  const opening = [
    'Crafting commands:\ncraft 4 oak planks using 1 oak log\ncraft 4 stick using 2 oak planks\ncraft 1 sign using 1 stick, 2 oak planks\ncraft 1 bed using 3 wool\n\nGoal: craft sign.',
  ];
  const turns = [
    ['', opening[0] ?? ''],
    ['get 2 oak log', 'Got 2 oak log'],
    ['craft 4 oak planks using 1 oak log', 'Crafted 4 minecraft:oak_planks'],
    ['craft 4 stick using 2 oak planks', 'Crafted 4 minecraft:stick'],
    ['craft 1 sign using 9 stick', 'Could not find a valid recipe for sign'],
  ] as const;

  test('the inventory is what was got and crafted less what was used', async () => {
    expect(await drawn(textcraft, given(turns))).toMatch(
      /Inventory\[carried: \[n: 1 × ]oak log\[n: 2 × ]oak planks\[n: 4 × ]stick]/,
    );
  });

  test('the recipes of the goal say what is done, and others stand apart', async () => {
    const text = await drawn(textcraft, given(turns));
    expect(text).toContain('○ [n: 1 × ]sign');
    expect(text).toContain('[done: ✓ [n: 1 × ]stick');
    expect(text).toMatch(/1 other command of the task].*craft 1 bed using 3 wool/);
  });

  test('a step shows the inventory as it was, whatever followed', async () => {
    expect(await drawn(textcraft, given(turns, 1))).toMatch(/Inventory\[carried: \[new: \[n: 2 × ]oak log]]/);
    expect(await drawn(textcraft, given(turns, 0))).toContain('Nothing is carried.');
  });

  test('recipes that go in a circle end', async () => {
    const circle = 'craft 1 a using 1 b\ncraft 1 b using 1 a\n\nGoal: craft a.';
    expect(await drawn(textcraft, given([['', circle]]))).toContain('[n: 1 × ]b');
  });
});

describe('the renderer of search-qa', () => {
  const found = (text: string) => `<information>{"result": ${JSON.stringify(text)}}</information>`;
  const turns = [
    ['', 'Question: Where was the author of Dune born?'],
    ['<search>author of Dune</search>', found('Doc 1: Dune\nDune is by Frank Herbert.\nDoc 2: Sand\nSand is small.')],
    ['<search>Frank Herbert birthplace</search>', found('Doc 1: Frank Herbert\nHe was born in Tacoma, in TACOMA.')],
    ['<answer>Tacoma</answer>', ''],
  ] as const;

  test('spans that answered are marked, and so is what went into the next search', async () => {
    const text = await drawn(searchQa, given(turns, 3, 1));
    expect(text).toContain('He was born in [mark: Tacoma], in [mark: TACOMA].');
    expect(text).toContain('Taken into the next search: Frank Herbert');
    expect(text).toContain('[good: Answer (right): Tacoma]');
  });

  test('a step shows the documents up to it, the answer that comes later marked', async () => {
    const text = await drawn(searchQa, given(turns, 1));
    expect(text).toContain('[title: Dune]');
    expect(text).not.toContain('He was born');
    expect(await drawn(searchQa, given(turns, 0))).toContain('Nothing is searched yet.');
  });
});

describe('the renderer of ALFWorld', () => {
  const turns = [
    [
      '',
      '-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly around you, you see a bed 1, a desk 1, and a drawer 1.\n\nYour task is to: put a clean mug in drawer.',
    ],
    ['go to desk 1', 'You arrive at desk 1. On the desk 1, you see a mug 1, and a pen 2.'],
    ['take mug 1 from desk 1', 'You pick up the mug 1 from the desk 1.'],
    ['go to drawer 1', 'You arrive at drawer 1. The drawer 1 is closed.'],
    ['open drawer 1', 'You open the drawer 1. The drawer 1 is open. In it, you see nothing.'],
    ['move mug 1 to drawer 1', 'You move the mug 1 to the drawer 1.'],
  ] as const;

  test('receptacles hold what was seen in them, what nobody saw is marked so', async () => {
    const text = await drawn(alfworld, given(turns, 1));
    expect(text).toContain('[unseen: bed 1[faint: ][faint: not seen yet]]');
    expect(text).toContain('[here: desk 1[faint:  · the agent is here][things: [wanted: mug 1]pen 2]]');
  });

  test('a thing that is taken is held, and lies where it is put', async () => {
    expect(await drawn(alfworld, given(turns, 3))).toContain('Holds: [wanted: mug 1]');
    const text = await drawn(alfworld, given(turns));
    expect(text).toContain('Holds: [faint: nothing]');
    expect(text).toMatch(
      /\[here: (\[wanted: )?drawer 1]?\[faint: {2}open · the agent is here]\[things: \[wanted: mug 1]]]|drawer 1\[faint: {1,2}open · the agent is here]\[things: \[wanted: mug 1]]/,
    );
  });
});

describe('what a renderer is given', () => {
  test('no field that a query asked for besides is handed on', () => {
    const step = { ...given([['a', 'b']]).steps[0], secret: 'key' } as unknown as RendererStep;
    expect(JSON.stringify(givenOf({ ...task, token: 'key' } as never, [step], 0))).not.toContain('key');
  });

  test('where texts are too long the first step and those before the shown one stay', () => {
    const steps = Array.from({ length: 100 }, (_, depth) => [`a${depth}`, 'x'.repeat(100_000)] as const);
    const what = given(steps, 60);
    expect(what.steps[0]?.depth).toBe(0);
    expect(what.steps[what.at]?.depth).toBe(60);
    expect(what.steps.length + what.omitted).toBeLessThanOrEqual(100);
    expect(JSON.stringify(what).length).toBeLessThan(2_100_000);
    expect(what.steps[0]?.observation.length).toBe(65_536);
  });
});
