import { describe, expect, test } from '@jest/globals';
import { openOnPath, type PlacedCall, placeCall } from './place-call.ts';

const call = (overrides: Partial<PlacedCall> = {}): PlacedCall => ({
  place: 'path',
  parentStepId: 'root',
  state: 'answered',
  prompt: 'p',
  choices: [{ conversation: 'p r', reply: 'r', callsTools: false, toolCallIds: [] }],
  ...overrides,
});

const NONE = { calls: [], answers: null, reply: null };

describe('placeCall', () => {
  test('a result whose reply was cut from the window continues the reply that called its tool', () => {
    const first = call({ state: 'recorded', choices: [{ conversation: 'x', reply: 'x', callsTools: true, toolCallIds: ['c'] }] });
    const later = call({
      parentStepId: 's',
      choices: [{ conversation: 'y', reply: 'y', callsTools: true, toolCallIds: ['d', 'e'] }],
    });
    const cut = ['', 'w', 'w x', 'w x c', 'w x c d', 'w x c d e'];
    const ids = ['c', 'd', 'e'].map((answers) => ({ calls: [], answers, reply: null }));
    const shown = [NONE, { calls: ['c'], answers: null, reply: 'of c' }, ...ids];
    expect(placeCall(cut, shown, [first, later], 's')).toEqual({ kind: 'continues', call: later, choice: 0, from: 3 });
    expect(placeCall(['', 'd', 'd e'], ids.slice(1), [first, later], 's')).toMatchObject({ call: later, from: 0 });
  });

  test('a call next to the path is unclear: where it begins as an earlier one and goes on otherwise, and where another is in flight', () => {
    const before = call({ choices: [{ conversation: 'p r', reply: 'r', callsTools: true, toolCallIds: [] }] });
    expect(placeCall(['', 'p', 'p altered', 'p altered o'], [], [before], 'root')).toEqual({
      kind: 'aside',
      unclear: 'altered-history',
    });
    const flying = call({ state: 'in-flight', choices: [] });
    expect(placeCall(['', 'q'], [], [flying], 'root')).toEqual({ kind: 'aside', unclear: 'overlapping' });
  });

  test('a request with a call of a tool continues the reply that gave its id, whatever its program made of what came before', () => {
    const before = call({ choices: [{ conversation: 'p r', reply: 'r', callsTools: true, toolCallIds: ['c'] }] });
    const other = call({ state: 'recorded', choices: [{ conversation: 'o', reply: 'o', callsTools: true, toolCallIds: ['d'] }] });
    expect(
      placeCall(
        ['', 'masked', 'masked r', 'masked r o'],
        [NONE, { calls: ['c'], answers: null, reply: 'of c' }, NONE],
        [other, before],
        'root',
      ),
    ).toEqual({
      kind: 'continues',
      call: before,
      choice: 0,
      from: 2,
    });
  });

  test('an id that two replies gave names neither', () => {
    const two = [1, 2].map((n) =>
      call({ choices: [{ conversation: `p ${n}`, reply: `${n}`, callsTools: true, toolCallIds: ['c'] }] }),
    );
    expect(placeCall(['', 'q', 'q r'], [NONE, { calls: ['c'], answers: null, reply: 'of c' }], two, 'root')).toEqual({
      kind: 'aside',
      unclear: 'tools-waiting',
    });
  });

  test('the first call of a rollout is its first', () => {
    expect(placeCall(['', 'p'], [], [], 'root')).toEqual({ kind: 'first' });
  });

  test('a request that holds a conversation with its reply continues that call, behind as many messages', () => {
    const before = call();
    expect(placeCall(['', 'p', 'p r', 'p r o'], [], [before], 'root')).toEqual({
      kind: 'continues',
      call: before,
      choice: 0,
      from: 2,
    });
  });

  test('the longest of several conversations in a request is continued, by the choice that the request holds', () => {
    const before = call({ state: 'recorded' });
    const later = call({
      prompt: 'p r o',
      choices: ['a', 'b'].map((conversation) => ({ conversation, reply: conversation, callsTools: false, toolCallIds: [] })),
    });
    expect(placeCall(['', 'p', 'p r', 'p r o', 'b', 'b x'], [], [before, later], 'root')).toEqual({
      kind: 'continues',
      call: later,
      choice: 1,
      from: 4,
    });
  });

  test('the same conversation once more is asked again, also while the first is in flight', () => {
    const before = call({ state: 'in-flight', choices: [] });
    expect(placeCall(['', 'p'], [], [before], 'root')).toEqual({ kind: 'again', call: before });
  });

  test('another conversation follows on the path when nothing is open there', () => {
    expect(placeCall(['', 'q'], [], [call()], 'root')).toEqual({ kind: 'follows' });
    expect(placeCall(['', 'q'], [], [call({ state: 'unanswered', choices: [] })], 'root')).toEqual({ kind: 'follows' });
  });

  test('another conversation lies next to the path while a call is in flight, or a reply of the path waits for its tools', () => {
    expect(placeCall(['', 'q'], [], [call({ state: 'in-flight', choices: [] })], 'root')).toMatchObject({ kind: 'aside' });
    const waiting = call({ choices: [{ conversation: 'p r', reply: 'r', callsTools: true, toolCallIds: ['c'] }] });
    expect(placeCall(['', 'q'], [], [waiting], 'root')).toMatchObject({ kind: 'aside' });
  });

  test('what arrived of a reply before its program went away is continued by a request that shows it, and missing in one with another', () => {
    const cut = call({ state: 'cut' });
    expect(placeCall(['', 'p', 'p r', 'p r o'], [], [cut], 'root')).toMatchObject({ kind: 'continues', call: cut, from: 2 });
    const shown = [NONE, { calls: [], answers: null, reply: 'other' }, NONE];
    expect(placeCall(['', 'p', 'p other', 'p other o'], shown, [cut], 'root')).toEqual({
      kind: 'aside',
      unclear: 'unrecorded-reply',
    });
    expect(openOnPath([cut], 'root')).toEqual([]);
  });

  test('a text that is a whole reply and what arrived of another is continued as the whole one', () => {
    const [cut, whole] = [call({ state: 'cut' }), call({ state: 'recorded' })];
    for (const calls of [
      [cut, whole],
      [whole, cut],
    ])
      expect(placeCall(['', 'p', 'p r', 'p r o'], [], calls, 'root')).toMatchObject({ kind: 'continues', call: whole });
  });

  test('what arrived of a reply that failed is not continued', () => {
    expect(placeCall(['', 'p', 'p r', 'p r o'], [], [call({ state: 'unanswered' })], 'root')).toEqual({ kind: 'follows' });
  });
});

test('the replies that may become the next step are those of the path at its leaf', () => {
  const open = [call(), call({ prompt: 'again' })];
  const others = [call({ place: 'branch' }), call({ parentStepId: 'elsewhere' }), call({ state: 'recorded' })];
  expect(openOnPath([...others, ...open], 'root')).toEqual(open);
});

/** A conversation of alternating messages of users (small letters) and the assistant (capitals), as `a A b`. */
function asked(text: string): readonly [string[], { calls: never[]; answers: null; reply: string | null }[]] {
  const words = text.split(' ');
  const prefixes = ['', ...words.map((_, i) => words.slice(0, i + 1).join(' '))];
  return [prefixes, words.map((word) => ({ calls: [], answers: null, reply: word < 'a' ? word : null }))];
}

/** Calls of a path, each of the prompt and the reply to it; null where the reply is not on record. All but the last one are steps. */
function path(...turns: readonly (readonly [string, string | null])[]): readonly PlacedCall[] {
  return turns.map(([prompt, reply], i) => {
    const choices = reply === null ? [] : [{ conversation: `${prompt} ${reply}`, reply, callsTools: false, toolCallIds: [] }];
    const state = reply === null ? 'unanswered' : i < turns.length - 1 ? 'recorded' : 'answered';
    return call({ prompt, choices, state, parentStepId: `step ${turns.slice(0, i).filter(([, said]) => said !== null).length}` });
  });
}
const leafOf = (calls: readonly PlacedCall[]) => `step ${calls.filter(({ state }) => state === 'recorded').length}`;

test.each<[string, string, ReturnType<typeof path>]>([
  ['whose call failed', 'a A b', path(['a', null])],
  ['whose call failed, behind a step', 'a A b B c', path(['a', 'A'], ['a A b', null])],
  ['whose call failed, behind replies written anew', 'a A2 b B c', path(['a', 'A'], ['a A2 b', null])],
])('a request with a reply %s is unclear', (_, request, calls) => {
  const placing = placeCall(...asked(request), calls, leafOf(calls));
  expect(placing).toEqual({ kind: 'aside', unclear: 'unrecorded-reply' });
});

test.each<[string, string, ReturnType<typeof path>]>([
  ['writes its reply anew', 'a A2 b', path(['a', 'A'])],
  ['writes all its replies anew', 'a A2 b B2 c', path(['a', 'A'], ['a A2 b', 'B'])],
  ['masks an observation', 'a A m B c', path(['a', 'A'], ['a A b', 'B'])],
  ['cuts its window behind the first message', 'a B c C d', path(['a', 'A'], ['a A b', 'B'], ['a A b B c', 'C'])],
  ['shows examples that change', 'X y Z q', path(['W v X w', 'A'])],
  ['writes its prompt from the start', 'z', path(['a', 'A'])],
  ['begins again without what failed', 'a b', path(['a', null])],
])('a request of a program that %s follows on the path', (_, request, calls) => {
  expect(placeCall(...asked(request), calls, leafOf(calls))).toEqual({ kind: 'follows' });
});

test('a request with the reply to a prompt that failed once and was answered then continues that', () => {
  const calls = path(['a', null], ['a', 'A']);
  expect(placeCall(...asked('a A b'), calls, 'root')).toMatchObject({ kind: 'continues', call: calls[1] });
});

test('a request that ends with the beginning of a reply, has more of one turn, or one that its program wrote, continues the reply before', () => {
  const calls = path(['a', 'A']);
  for (const request of ['a A b B', 'a A A2 b', 'a A b B c'])
    expect(placeCall(...asked(request), calls, leafOf(calls))).toMatchObject({ kind: 'continues', call: calls[0], from: 2 });
});
