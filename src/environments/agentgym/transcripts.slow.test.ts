import { describe, expect, test } from '@jest/globals';
import { startAgentGymServer } from '../../testing/agentgym-server.ts';
import { babyaiWorld, sciworldWorld, textcraftWorld } from '../../testing/agentgym-server-worlds.ts';
import { again, type Exchange, playSession, readTranscript, startRecordedServer } from '../../testing/agentgym-transcript.ts';
import { openTextCraft } from '../textcraft/textcraft.ts';

const transcripts = (['textcraft', 'babyai', 'sciworld'] as const).map(readTranscript);

const local = await openTextCraft();
/** Servers of ours that answer in the place of the real ones. */
const OURS = [
  ['textcraft', 'the stand-in of tests', () => startAgentGymServer(() => textcraftWorld(local))],
  ['babyai', 'the stand-in of tests', () => startAgentGymServer(babyaiWorld)],
  ['sciworld', 'the stand-in of tests', () => startAgentGymServer(sciworldWorld)],
] as const;

describe("transcripts of AgentGym's own servers", () => {
  test.each(transcripts)('$source is asked as recorded, and its answers come to the recorded episodes', async (transcript) => {
    const server = await startRecordedServer(transcript);
    try {
      const episodes = transcript.episodes.map(({ alias, actions }) => ({ alias, next: again(actions) }));
      const session = await playSession(transcript.server, server.url, episodes, transcript.unknown.alias);
      expect([server.strayed, server.left()]).toEqual([[], 0]);
      expect(JSON.parse(JSON.stringify(session))).toEqual({ episodes: transcript.episodes, unknown: transcript.unknown });
    } finally {
      await server.close();
    }
  });

  test('a success, a refused action and the end by a fatal act are among what was recorded', () => {
    const steps = transcripts.flatMap(({ server, episodes }) =>
      episodes.flatMap((each) => each.steps.map((step) => ({ server, ...step }))),
    );
    const ends = steps.filter(({ terminated }) => terminated).map(({ server, success }) => [server, success]);
    expect(ends).toEqual(
      expect.arrayContaining([
        ['textcraft', true],
        ['babyai', true],
        ['sciworld', false],
      ]),
    );
    for (const { server } of transcripts) expect(steps.some((step) => step.server === server && !step.executable)).toBe(true);
    expect(steps.some(({ reward }) => reward.fatal)).toBe(true);
  });

  test.each(OURS)('%s: %s answers with the fields of the real server', async (name, _what, open) => {
    const real = transcripts.find(({ server }) => server === name)?.exchanges ?? [];
    const server = await open();
    try {
      const ask = async (path: string, body: object | null) => {
        const sent = { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
        return (await fetch(`${server.url}${path}`, body === null ? {} : sent)).json();
      };
      expect(await ask('/', null)).toEqual(answersTo(real, 'GET', '/')[0]);
      const created = await ask('/create', {});
      expect(answersTo(real, 'POST', '/create').map(fieldsOf)).toContainEqual(fieldsOf(created));
      const { id } = created as { readonly id: number }; // as the real one, whose fields were just compared
      expect(answersTo(real, 'POST', '/reset').map(fieldsOf)).toContainEqual(fieldsOf(await ask('/reset', { id, data_idx: 0 })));
      expect(answersTo(real, 'POST', '/step').map(fieldsOf)).toContainEqual(
        fieldsOf(await ask('/step', { id, action: 'dance' })),
      );
    } finally {
      await server.close();
    }
  });
});

function answersTo(exchanges: readonly Exchange[], method: string, path: string): readonly unknown[] {
  return exchanges.filter((each) => each.method === method && each.path === path).map(({ answer }) => answer);
}

/** Names the fields of an answer and their types. */
function fieldsOf(answer: unknown): readonly string[] {
  return Object.entries(Object(answer))
    .map(([field, value]) => `${field}: ${typeof value}`)
    .sort();
}
