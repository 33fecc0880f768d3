import { expect, test } from '@jest/globals';
import { findPicture, openPicture } from '../../projections/pictures/read-pictures.ts';
import { testPictures } from '../../testing/painted-world.ts';
import { completion } from '../../testing/upstream.ts';
import { assistant, proxyForTests, user } from './proxy-testing.ts';

const { proxy, post, chat, end } = proxyForTests();
const { dot, noise, red } = await testPictures();
const text = (said: string) => ({ type: 'text', text: said });
const inline = ({ base64 }: { readonly base64: string }) => `data:image/png;base64,${base64}`;

async function pictures() {
  const { db } = proxy.api.database;
  const rows = await db.selectFrom('pictures').select(['stepId', 'imageId']).orderBy('stepId').orderBy('ordinal').execute();
  return (stepId: string | undefined) => rows.filter((row) => row.stepId === stepId).map(({ imageId }) => imageId);
}

async function kindOf(imageId: string) {
  const picture = await findPicture(proxy.api.database.db, imageId);
  return picture && (await openPicture(picture, (sha256) => proxy.api.blobs.get(sha256))).kind;
}

test('pictures of a conversation are recorded by their content, each with the observation that it came with, and shown in prompts', async () => {
  proxy.answer((body) => completion(`reply ${body.messages?.length}`, body));
  const opening = [{ role: 'system', content: 'Look.' }, user([text('What is it?'), dot.part])];
  await chat(opening);
  await chat([...opening, assistant('reply 2'), user([text('And these?'), noise.part, dot.part])]);
  await end();
  const { steps, prompts, calls, quarantined } = await proxy.recorded();
  expect(quarantined).toEqual([]);
  const of = await pictures();
  expect(steps.map(({ stepId, observation }) => [observation, of(stepId)])).toEqual([
    ['What is it?', [dot.id]],
    ['And these?', [noise.id, dot.id]],
    ['', []],
  ]);
  expect(await Promise.all([dot.id, noise.id].map(kindOf))).toEqual(['picture', 'picture']);
  const shown = prompts.get(steps[2]?.stepId ?? '')?.messages.map(({ parts }) => parts);
  expect([shown?.[1], shown?.[3]]).toEqual([
    [
      { kind: 'text', text: 'What is it?' },
      { kind: 'image', imageId: dot.id },
    ],
    [
      { kind: 'text', text: 'And these?' },
      { kind: 'image', imageId: noise.id },
      { kind: 'image', imageId: dot.id },
    ],
  ]);
  expect(calls.map((call) => call.pictures)).toEqual([undefined, undefined]);
  expect(JSON.stringify(proxy.upstream.requests[1]?.body)).toContain(noise.base64);
});

test('a picture of the responses protocol is recorded as one of chat completions is', async () => {
  proxy.answer(() => ({
    id: 'r',
    object: 'response',
    status: 'completed',
    usage: { input_tokens: 1, output_tokens: 1 },
    output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'a dot' }] }],
  }));
  const content = [
    { type: 'input_text', text: 'q' },
    { type: 'input_image', image_url: inline(dot) },
  ];
  await post('/run/task/0/responses', { model: 'served', input: [{ role: 'user', content }] });
  const { steps, quarantined } = await proxy.recorded();
  expect(quarantined).toEqual([]);
  expect((await pictures())(steps[0]?.stepId)).toEqual([dot.id]);
});

test('a picture that no observation holds lies with its call, once however often it is shown', async () => {
  proxy.answer((body) => completion(JSON.stringify(body.messages).includes('aside') ? 'b' : 'a', body));
  await chat([user('q')]);
  // another opening of the same task, and the same conversation once more
  await chat([user([text('aside'), red.part])], {}, '/run/task/1');
  await chat([user([text('aside'), red.part])], {}, '/run/task/1');
  const { calls, prompts, quarantined } = await proxy.recorded();
  expect(quarantined).toEqual([]);
  expect(calls.map((call) => call.pictures?.map(({ imageId }) => imageId))).toEqual([undefined, [red.id], undefined]);
  expect((await pictures())(calls[1]?.callId)).toEqual([red.id]);
  expect(await kindOf(red.id)).toBe('picture');
  const shown = prompts
    .get(calls[1]?.stepId ?? '')
    ?.messages.at(-1)
    ?.parts.at(-1);
  expect(shown).toEqual({ kind: 'image', imageId: red.id });
});

test('a picture by its address, and what is no picture, is a counted loss with its reason, and no text of the prompt; the call goes on', async () => {
  proxy.answer((body) => completion('a', body));
  const url = (given: string) => ({ type: 'image_url', image_url: { url: given } });
  const odd = ['https://example.com/cat.png', 'data:image/gif;base64,R0lGODlh', 'data:image/png,raw'];
  await chat([user([text('see'), ...odd.map(url)])]);
  await end();
  const { calls, prompts, quarantined, rollouts } = await proxy.recorded();
  expect(quarantined).toEqual([]);
  expect(prompts.get(calls[0]?.stepId ?? '')?.messages[0]?.parts).toEqual([{ kind: 'text', text: 'see' }]);
  expect(JSON.parse(String(calls[0]?.attributes)).losses).toEqual([
    expect.stringMatching(
      /^request: the picture https:\/\/example.com\/cat.png is not recorded: an address, which is not fetched/,
    ),
    expect.stringMatching(/^request: the picture data:image\/gif is not recorded: .*neither a PNG nor a JPEG/),
    expect.stringMatching(/^request: the picture data:image\/png is not recorded: .*not in base64/),
  ]);
  expect(rollouts).toMatchObject([{ lostParts: 3 }]);
});

test('a server that was restarted knows the pictures of the record', async () => {
  proxy.answer((body) => completion(`reply ${body.messages?.length}`, body));
  const opening = [user([text('q'), red.part])];
  await chat(opening, {}, '/run/task/0');
  const base = await proxy.restart();
  const next = [...opening, assistant('reply 1'), user([text('on'), red.part])];
  await post('/run/task/0/chat/completions', { model: 'served', messages: next }, { base });
  const { calls, steps, quarantined } = await proxy.recorded();
  expect(quarantined).toEqual([]);
  expect(calls.map((call) => call.pictures)).toEqual([undefined, undefined]);
  const of = await pictures();
  expect(steps.map(({ stepId }) => of(stepId))).toEqual([[red.id], [red.id]]);
});
