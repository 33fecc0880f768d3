import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { everyEvent } from '../testing/every-event.ts';
import { catalogue, type EventType } from './catalogue.ts';
import { clearHash, contentHash, decode, encode, sameContent } from './codec.ts';
import type { Envelope } from './envelope.ts';
import { unpack } from './packed.ts';
import { FORGOTTEN, splitPayload } from './payload.ts';
import { payloadFields } from './payload-fields.ts';
import { KEY_BYTES, openSealed, sealEvent, streamKey } from './seal.ts';

const key = streamKey('11111111-1111-4111-8111-111111111111', Buffer.alloc(KEY_BYTES, 7));
const other = streamKey('22222222-2222-4222-8222-222222222222', Buffer.alloc(KEY_BYTES, 8));
const events = everyEvent();

function opened(event: Envelope, by = key) {
  return decode(encode(event), (sealed, id) => openSealed(sealed, id, by));
}

describe.each(events.map((event) => [event.type, event] as const))('a sealed %s', (type, event) => {
  const sealed = sealEvent(event, key);

  test('it is read back as the event that was sealed', () => {
    expect(opened(sealed)).toEqual({ kind: 'event', event: opened(event).kind === 'event' ? event : undefined });
  });

  test('its record holds none of its payload in the clear, and its ids, numbers and hashes as they were', () => {
    const split = splitPayload(type, event.data);
    expect(sealed.sealed === undefined).toBe(split === undefined);
    for (const value of Object.values(split?.payload ?? {}))
      if (typeof value === 'string' && value.length > 3)
        expect(JSON.stringify(sealed)).not.toContain(JSON.stringify(value).slice(1, -1));
    const { data: _data, sealed: _sealed, ...envelope } = sealed;
    const { data: _plain, ...plain } = event;
    expect(envelope).toEqual(plain);
  });

  test('it is an event of its type that says forgotten when its key is destroyed', () => {
    const decoded = decode(encode(sealed), () => 'forgotten');
    expect(decoded).toMatchObject({ kind: 'event', event: { type, id: event.id } });
    if (decoded.kind !== 'event') return;
    expect(decoded.event.sealed).toEqual(sealed.sealed);
    expect(sameContent(decoded.event, event)).toBe(true);
    expect(clearHash(decoded.event)).toBe(clearHash(event));
    expect(contentHash(decoded.event) === contentHash(event)).toBe(sealed.sealed === undefined);
  });

  test('sealing it again by the same key yields the same bytes, and by another key other ones', () => {
    expect(encode(sealEvent(event, key))).toEqual(encode(sealed));
    if (sealed.sealed) expect(sealEvent(event, other).sealed?.text).not.toBe(sealed.sealed.text);
  });
});

test('every path of payload leads to something that the events of its type hold', () => {
  const found = new Map<EventType, Set<string>>();
  for (const { type, data } of events) {
    const places = Object.keys(splitPayload(type, data)?.payload ?? {}).map((place) => place.replace(/\.\d+/g, '.*'));
    found.set(type, new Set([...(found.get(type) ?? []), ...places]));
  }
  const emptyThere = new Set([
    'TreeOpened task.goal',
    'NodeExpanded reason',
    'RolloutFinished reason',
    'RunFinished message',
    'PromptShown answer.tokens.ids',
  ]);
  for (const type of Object.keys(catalogue) as EventType[])
    for (const path of payloadFields[type])
      if (!emptyThere.has(`${type} ${path}`))
        expect([type, [...(found.get(type) ?? [])]]).toEqual([type, expect.arrayContaining([path])]);
});

test('forgotten token ids keep their number as zeros, and forgotten replies are an empty list', () => {
  const forgotten = (type: EventType) => {
    const event = events.find((candidate) => candidate.type === type && splitPayload(type, candidate.data));
    const decoded = event && decode(encode(sealEvent(event, key)), () => 'forgotten');
    if (decoded?.kind !== 'event') throw new Error(`${type} is sealed`);
    return decoded.event;
  };
  const step = forgotten('StepTaken');
  if (step.type !== 'StepTaken' || !step.data.tokens) throw new Error('a step with tokens');
  expect(unpack(step.data.tokens.ids)).toEqual([0, 0, 0]);
  expect(step.data.response).toBe(FORGOTTEN);
  expect(step.data.admissibleActions).toEqual([FORGOTTEN]);
  const replies = forgotten('RepliesSampled');
  if (replies.type !== 'RepliesSampled') throw new Error('replies');
  expect(gunzipSync(Uint8Array.from(unpack(replies.data.replies))).toString()).toBe('[]');
});

test('sealed payload that was changed, moved into another event or sealed by another key is refused', () => {
  const [first, second] = events.filter(({ type }) => type === 'StepTaken' || type === 'ToolCalled');
  if (!first || !second) throw new Error('two events with payload');
  const sealed = sealEvent(first, key);
  const text = `${sealed.sealed?.text.startsWith('A') ? 'B' : 'A'}${sealed.sealed?.text.slice(1)}`;
  const changed = { ...sealed, sealed: { ...sealed.sealed, text } } as Envelope;
  const moved = { ...sealed, id: second.id } as Envelope;
  for (const decoded of [opened(changed), opened(moved), opened(sealed, other)])
    expect(decoded).toMatchObject({ kind: 'refused', refusal: { path: 'sealed' } });
});

test('the reference to a blob is sealed, and its name stays in the clear so that the blob is not collected', () => {
  const tree = events.find(({ type }) => type === 'TreeOpened');
  if (tree?.type !== 'TreeOpened') throw new Error('a tree');
  const sealed = sealEvent(tree, key);
  expect(sealed.sealed?.blobs).toEqual(['a'.repeat(64)]);
  expect(sealed.data).toMatchObject({ instruction: FORGOTTEN });
});
