import { readFile, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, test } from '@jest/globals';
import { contextOf } from '../../../../domain/dataset/turn-weights.ts';
import type { PolicyMessage } from '../../../../domain/prompts/policy-prompt.ts';
import { replyMessage, textMessage } from '../../../../domain/prompts/same-message.ts';
import { pack } from '../../../../events/packed.ts';
import { tokensAsJson } from '../../../../projections/step-tree/token-bytes.ts';
import { datasetWorkshop } from '../../../../testing/dataset-workshop.ts';
import { EventBuilder } from '../../../../testing/event-builder.ts';
import { givenEvents } from '../../../../testing/given-events.ts';
import { recordMessages } from '../../../../testing/record-messages.ts';
import type { ExportFormat } from '../../export/formats.ts';
import { readParquet } from '../../prepare/read-source.ts';

const shop = datasetWorkshop();

const write = (...rows: readonly object[]) =>
  writeFile(shop.path('source'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
const linesOf = async (name: string) =>
  (await readFile(shop.path(name), 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
async function exported(name: string, format: ExportFormat) {
  await shop.exportTo(name, format);
  return linesOf(name);
}
const steps = () =>
  shop.db
    .selectFrom('steps')
    .selectAll()
    .select(tokensAsJson('steps').as('tokens'))
    .where('depth', '>', 0)
    .orderBy('depth')
    .execute();

const asked = (reply: string) => ({
  messages: [
    { role: 'user', content: 'q' },
    { role: 'assistant', content: reply },
  ],
});

/** Two rollouts of a task: one of a guide's step and two of its own with tokens, and one that fails. */
function recorded(): EventBuilder {
  const builder = new EventBuilder('forms');
  const tree = builder.tree(builder.run(), 'bread');
  const one = builder.rollout(tree, 0);
  const policySpans = [{ from: 0, to: 0, policyId: contextOf('random'), version: 0 }];
  const guided = builder.step(tree, one, tree.rootStepId, 1, { response: 'as shown', observation: 'shown', policySpans });
  const tokens = { ids: pack('int32', [5, 6, 7]), logProbs: pack('float32', [-0.5, -0.25, -1]), mask: null };
  const next = builder.step(tree, one, guided, 2, { response: 'go on', observation: 'on', tokens });
  const leaf = builder.step(tree, one, next, 3, { response: 'end', observation: 'done', termination: 'terminated' });
  builder.reward(tree, leaf, 1, { rolloutId: one });
  builder.reward(tree, next, 0.25, { component: 'format' });
  builder.reward(tree, null, -0.5, { rolloutId: one, component: 'length' });
  builder.finishRollout(tree, one, leaf, { steps: 3 });
  builder.walk(tree, 1, 1, 0);
  builder.closeTree(tree, 2);
  return builder;
}

describe('files of others', () => {
  test('a chat of messages becomes a trajectory: system text, first observation, a step per reply, weight 0 as context', async () => {
    await write({
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What ' },
            { type: 'text', text: 'is it?' },
          ],
        },
        { role: 'assistant', content: 'look', weight: 0 },
        { role: 'user', content: 'a cat' },
        { role: 'user', content: 'on a mat' },
        { role: 'assistant', content: 'a cat' },
        { role: 'user', content: 'said' },
      ],
    });
    const report = await shop.importing();
    expect(report).toMatchObject({ source: 'openai', trees: 1, rollouts: 1, steps: 2, alreadyThere: 0 });
    const tree = await shop.db.selectFrom('trees').selectAll().executeTakeFirstOrThrow();
    expect(tree).toMatchObject({ environment: 'chat', instruction: 'Be brief.' });
    expect(
      (await steps()).map(({ response, observation, policySpans }) => [response, observation, policySpans[0]?.policyId]),
    ).toEqual([
      ['look', 'a cat\n\non a mat', 'chat:context'],
      ['a cat', 'said', 'chat'],
    ]);
    expect(await shop.importing()).toMatchObject({ alreadyThere: report.events });
  });

  test('chats that ask the same are rollouts of one task', async () => {
    const ask = (reply: string) => ({
      messages: [
        { role: 'user', content: 'Which?' },
        { role: 'assistant', content: reply },
      ],
    });
    await write(ask('this'), ask('that'));
    expect(await shop.importing()).toMatchObject({ trees: 1, rollouts: 2 });
  });

  test.each<[string, ExportFormat]>([
    ['openai', { kind: 'openai', weights: 'own', metadata: 'include' }],
    ['sharegpt', { kind: 'sharegpt', weights: 'own' }],
    ['atif', { kind: 'atif', weights: 'own' }],
  ])(
    'a file of ours in the form %s is imported and exported to the same texts, weights, rewards and success',
    async (form, format) => {
      await givenEvents(shop.db, recorded().events);
      const before = await exported('before', format);
      await shop.startAgain();
      const report = await shop.importing({ source: shop.path('before') });
      expect(report.source).toBe(form === 'sharegpt' ? 'agent-traj' : form);
      expect(report.notes).toEqual([]);
      const after = await exported('after', format);
      expect(after.map(withoutIds)).toEqual(before.map(withoutIds));
      expect(after).toHaveLength(2);
    },
  );

  test.each<[string, ExportFormat, number]>([
    ['trl', { kind: 'trl', weights: 'own', metadata: 'include' }, 3],
    ['trl-grpo', { kind: 'trl-grpo', metadata: 'include' }, 2],
  ])(
    'rows of prompt and completion of ours (%s) come back equal: replies in a prompt stay context, rewards keep their components',
    async (_, format, count) => {
      await givenEvents(shop.db, recorded().events);
      const before = await exported('before', format);
      expect(before).toHaveLength(count);
      await shop.startAgain();
      expect(await shop.importing({ source: shop.path('before') })).toMatchObject({
        source: 'verifiers',
        rollouts: count,
        notes: [],
      });
      const after = await exported('after', format);
      expect(after.map(withoutIds)).toEqual(before.map(withoutIds));
    },
  );

  test('our Parquet for verl with a row per step comes back equal: prompts, replies, tokens, rewards, outcome and policy', async () => {
    const columns = ['raw_prompt', 'response_text', 'responses', 'response_mask', 'rollout_log_probs', 'step_reward', 'rewards'];
    const ends = [
      'trajectory_rewards',
      'episode_rewards',
      'outcome',
      'success',
      'policy_id',
      'param_version_start',
      'termination',
    ];
    const format = { kind: 'verl', layout: 'step' } as const;
    const rowsIn = async (path: string) => {
      const rows: object[] = [];
      for await (const row of readParquet(path, [...columns, ...ends, 'data_source', 'step_indices'])) rows.push(row);
      return rows;
    };
    await givenEvents(shop.db, recorded().events);
    const before = await rowsIn(await shop.exportTo('before', format));
    expect(before).toHaveLength(4);
    await shop.startAgain();
    expect(await shop.importing({ source: shop.path('before') })).toMatchObject({ source: 'verl', rollouts: 2, steps: 4 });
    expect(await rowsIn(await shop.exportTo('after', format))).toEqual(before);
  });

  test('a trajectory of Parquet for verl of which a row cannot be read is refused whole', async () => {
    await givenEvents(shop.db, recorded().events);
    const written = await shop.exportTo('written', { kind: 'verl', layout: 'step' });
    const duckdb = await DuckDBInstance.create(':memory:');
    const connection = await duckdb.connect();
    const replies = "select * replace (nullif(response_text, 'go on') as response_text) from read_parquet";
    await connection.run(`copy (${replies}('${written}')) to '${shop.path('source')}' (format parquet)`);
    connection.closeSync();
    duckdb.closeSync();
    await shop.startAgain();
    const { skipped, ...report } = await shop.importing({ badRows: 'skip' });
    expect(report).toMatchObject({ source: 'verl', rollouts: 1, steps: 1 });
    expect(skipped.first.map(({ reason }) => reason)).toEqual([
      expect.stringContaining('response_text'),
      expect.stringMatching(/^row \d of the trajectory that begins here cannot be read/),
    ]);
  });

  test('the same chats are one run as JSON lines, as indented JSON, and packed by gzip', async () => {
    const rows = [asked('this'), { messages: [...asked('that').messages, { role: 'user', content: 'on {"' }] }];
    await write(...rows);
    const report = await shop.importing();
    expect(report).toMatchObject({ source: 'openai', rollouts: 2, steps: 2 });
    const runs = new Set<string>();
    const lines = rows.map((row) => JSON.stringify(row)).join('\n');
    for (const file of [gzipSync(`${lines}\n`), rows.map((row) => `${JSON.stringify(row, null, 2)}\n`).join('')]) {
      await writeFile(shop.path('source'), file);
      const again = await shop.importing();
      expect(again).toMatchObject({ source: 'openai', rollouts: 2, steps: 2, notes: [] });
      for (const runId of again.runs) runs.add(runId);
    }
    expect(runs.has(report.runs[0] ?? '')).toBe(true); // of the packed one: its content is the same
    await writeFile(shop.path('source'), gzipSync(lines.repeat(50)).subarray(0, 60));
    await expect(shop.importing()).rejects.toMatchObject({
      code: 'cannot-read',
      message: expect.stringContaining('the file may be incomplete'),
    });
  });

  test('Parquet of messages and of conversations is read as JSON of them is', async () => {
    const duckdb = await DuckDBInstance.create(':memory:');
    const connection = await duckdb.connect();
    const copied = (select: string) => connection.run(`copy (${select}) to '${shop.path('source')}' (format parquet)`);
    await copied(`select [{'role': 'user', 'content': 'q' || i}, {'role': 'assistant', 'content': 'r'}] as messages, i as id, if(i = 1, 7, null) as level,
      null::integer as empty from range(3) t(i)`);
    const message = 'a column of Parquet: level is not read and not kept';
    const note = { kind: 'column-not-read', field: 'level', rows: 1, firstLine: 1, message };
    expect(await shop.importing()).toMatchObject({ source: 'openai', trees: 3, steps: 3, notes: [note] });
    const aliases = await shop.db.selectFrom('trees').select('alias').orderBy('alias').execute();
    expect(aliases).toEqual([{ alias: '0' }, { alias: '1' }, { alias: '2' }]);
    await copied("select [{'from': 'human', 'value': 'q'}, {'from': 'gpt', 'value': 'r'}] as conversations");
    expect(await shop.importing()).toMatchObject({ source: 'agent-traj', trees: 1, steps: 1, notes: [] });
    connection.closeSync();
    duckdb.closeSync();
  });

  test('a conversation that begins with the model is a task of its opening and the answer to it', async () => {
    const greeted = (question: string, calls = {}) => ({
      messages: [
        { role: 'assistant', content: 'Hello.', ...calls },
        { role: 'user', content: question },
        { role: 'assistant', content: 'Yes.' },
      ],
    });
    await write(greeted('Here?'), greeted('There?'), greeted('Here?'), greeted('Why?', { reasoning_content: 'greet' }));
    expect(await shop.importing()).toMatchObject({ trees: 3, rollouts: 4, steps: 8 });
    expect(await shop.db.selectFrom('quarantine').select('reason').execute()).toEqual([]);
    const first = (await steps()).filter(({ depth }) => depth === 1);
    expect(first.map(({ response, observation }) => [response, observation]).sort()).toEqual([
      ['Hello.', 'Here?'],
      ['Hello.', 'Here?'],
      ['Hello.', 'There?'],
      ['Hello.', 'Why?'],
    ]);
  });

  test('one bad row keeps nothing out with badRows skip: each is counted, and the first are named', async () => {
    const bad = [{ messages: [{ role: 'user', content: 'no reply' }] }, { messages: 7 }];
    const lines = ['{"messages": [', JSON.stringify(asked('this')), ...bad.map((row) => JSON.stringify(row)), '{"x": 1e400}'];
    await writeFile(shop.path('source'), `${lines.join('\n')}\n${JSON.stringify(asked('that'))}\n`);
    await expect(shop.importing()).rejects.toThrow('line 1: is not UTF-8 JSON');
    await expect(shop.importing()).rejects.toThrow('--skip-bad');
    const { skipped, ...report } = await shop.importing({ badRows: 'skip' });
    expect(report).toMatchObject({ source: 'openai', rollouts: 2 });
    expect([skipped.rows, skipped.first.map(({ line }) => line)]).toEqual([4, [1, 3, 4, 5]]);
    expect(skipped.first[1]?.reason).toContain('holds no reply of an assistant');
    await write(...bad);
    await expect(shop.importing({ badRows: 'skip' })).rejects.toThrow('2 rows skipped');
    await givenEvents(shop.db, recorded().events);
    await shop.exportTo('source', { kind: 'jsonl', scope: 'trees' });
    await expect(shop.importing({ badRows: 'skip' })).rejects.toThrow('leave out --skip-bad');
  });

  test('a row that only the schema of an event refuses is left out with badRows skip and counted, and the others are imported', async () => {
    const scored = (reply: string, value: number) => ({
      ...{ prompt: 'q', completion: reply, reward: value },
    });
    await write(scored('one', 1), scored('too much', 1e200), scored('three', 0));
    await expect(shop.importing()).rejects.toThrow('line 2: RewardAssigned: data.value');
    const { skipped, ...report } = await shop.importing({ badRows: 'skip' });
    expect(report).toMatchObject({ source: 'verifiers', trees: 1, rollouts: 2, steps: 2, alreadyThere: 0 });
    expect(skipped).toEqual({ rows: 1, first: [{ line: 2, reason: expect.stringContaining('RewardAssigned: data.value') }] });
    expect((await steps()).map(({ response }) => response).sort()).toEqual(['one', 'three']);
    expect(await shop.importing({ badRows: 'skip' })).toMatchObject({ alreadyThere: report.events });
  });

  test('lines of a session that are no objects, messages without a role and parts of no kind are noted', async () => {
    const said = (role: string, content: unknown) => ({ type: role, sessionId: 's', message: { role, content } });
    const lines = [
      said('user', 'q'),
      7,
      ['a list'],
      { type: 'user', message: { content: 'of nobody' } },
      said('assistant', ['r', 5]),
    ];
    await writeFile(shop.path('source'), lines.map((line) => JSON.stringify(line)).join('\n'));
    expect((await shop.importing()).notes).toMatchObject([
      { kind: 'line-not-read', field: null, rows: 1 },
      { kind: 'part-not-read', field: null, rows: 1 },
    ]);
  });

  test('a session of sub-agents is read where its file holds no other, one trajectory for each', async () => {
    const line = (agentId: string, role: string, content: string) => ({
      ...{ type: role, sessionId: 's', isSidechain: true, agentId },
      message: { role, content },
    });
    await write(line('a', 'user', 'q'), line('b', 'user', 'p'), line('a', 'assistant', 'r'), line('b', 'assistant', 'o'));
    const { notes, ...report } = await shop.importing();
    expect(report).toMatchObject({ source: 'hf-trace', trees: 2, steps: 2 });
    expect(notes).toMatchObject([{ kind: 'sidechain-alone', rows: 2 }]);
  });

  test('a session that continues after a line that cannot be read is refused whole, and one that ended before is not', async () => {
    const line = (agentId: string, role: string, content: string) =>
      JSON.stringify({ type: role, sessionId: 's', isSidechain: true, agentId, message: { role, content } });
    const ended = [line('a', 'user', 'q'), line('a', 'assistant', 'r')];
    const divided = [line('b', 'assistant', 'two'), '{"type": "user", ', line('b', 'assistant', 'that never were one')];
    await writeFile(shop.path('source'), [...ended, line('b', 'user', 'p'), ...divided, '{"type": "us'].join('\n'));
    await expect(shop.importing()).rejects.toThrow('line 5: is not UTF-8 JSON');
    const { skipped, ...report } = await shop.importing({ badRows: 'skip' });
    expect(report).toMatchObject({ source: 'hf-trace', trees: 1, steps: 1 });
    expect((await steps()).map(({ response }) => response)).toEqual(['r']);
    expect(skipped.first).toEqual([
      { line: 5, reason: expect.stringContaining('is not UTF-8 JSON') },
      { line: 7, reason: expect.stringContaining('is not UTF-8 JSON') },
      { line: 5, reason: expect.stringContaining('the session continues after this line') },
    ]);
  });

  test('Parquet that holds no texts of replies is refused with what does', async () => {
    await givenEvents(shop.db, recorded().events);
    await shop.exportTo('source', { kind: 'verl-prompts', truths: null });
    await shop.startAgain();
    await expect(shop.importing()).rejects.toThrow(
      'so its replies are no texts; import takes export --format verl --layout step',
    );
  });

  test("a reply of another in the middle of a completion is refused, as a trainer would count it as the policy's", async () => {
    const builder = new EventBuilder('middle');
    const tree = builder.tree(builder.run(), 'bread');
    const rollout = builder.rollout(tree, 0);
    const first = builder.step(tree, rollout, tree.rootStepId, 1);
    const policySpans = [{ from: 0, to: 0, policyId: contextOf('random'), version: 0 }];
    const guided = builder.step(tree, rollout, first, 2, { policySpans });
    const leaf = builder.step(tree, rollout, guided, 3, { termination: 'terminated' });
    builder.reward(tree, leaf, 1, { rolloutId: rollout });
    builder.finishRollout(tree, rollout, leaf, { steps: 3 });
    await givenEvents(shop.db, builder.events);
    await expect(exported('grpo', { kind: 'trl-grpo', metadata: 'include' })).rejects.toThrow(
      'trl-grpo cannot say which replies of a completion are context: 1 of trajectory',
    );
  });

  test('a trajectory of ATIF keeps token ids, log-probabilities, rewards of each step, and what was copied as context', async () => {
    await givenEvents(shop.db, recorded().events);
    const [line] = await exported('atif', { kind: 'atif', weights: 'own' });
    expect(line).toMatchObject({
      schema_version: 'ATIF-v1.7',
      agent: { name: 'random', version: '0' },
      steps: [
        { step_id: 1, source: 'system' },
        { step_id: 2, source: 'user' },
        {
          step_id: 3,
          source: 'agent',
          message: 'as shown',
          is_copied_context: true,
          observation: { results: [{ content: 'shown' }] },
        },
        { step_id: 4, message: 'go on', metrics: { completion_token_ids: [5, 6, 7], logprobs: [-0.5, -0.25, -1] } },
        { step_id: 5, message: 'end' },
      ],
      extra: { reward: 0.75 },
    });
    await shop.startAgain();
    await writeFile(shop.path('source'), JSON.stringify(line, null, 2)); // as Harbor writes it: one object over many lines
    expect(await shop.importing()).toMatchObject({ source: 'atif', rollouts: 1, steps: 3 });
    const [, step] = await steps();
    expect(step?.tokens).toMatchObject({ ids: pack('int32', [5, 6, 7]), logProbs: pack('float32', [-0.5, -0.25, -1]) });
  });

  test('calls of tools and thoughts of another agent of ATIF are those of its reply, the results its observation', async () => {
    await write({
      schema_version: 'ATIF-v1.4',
      session_id: 's',
      agent: { name: 'terminus', version: '2', model_name: 'm' },
      steps: [
        { step_id: 1, source: 'user', message: 'List files.', observation: { results: [{ content: 'in /srv' }] } },
        {
          step_id: 2,
          source: 'agent',
          message: 'I look.',
          reasoning_content: 'hm',
          tool_calls: [{ tool_call_id: 'c', function_name: 'bash', arguments: { command: 'ls' } }],
          observation: { results: [{ source_call_id: 'c', content: 'a.txt' }] },
          metrics: { prompt_tokens: 9, completion_tokens: 4 },
        },
      ],
    });
    expect(await shop.importing()).toMatchObject({ source: 'atif', steps: 1 });
    const [step] = await steps();
    expect(step).toMatchObject({
      response: 'I look.',
      thought: 'hm',
      reply: { reasoning: true, toolCalls: [{ id: 'c', name: 'bash', arguments: '{"command":"ls"}' }] },
      action: 'bash {"command":"ls"}',
      observation: 'a.txt',
      promptTokens: 9,
      policySpans: [{ policyId: 'm' }],
    });
    expect(await shop.db.selectFrom('steps').select('observation').where('depth', '=', 0).execute()).toEqual([
      { observation: 'List files.\n\nin /srv' },
    ]);
  });

  test('a rollout dump of verl is one rollout per line, its score the reward and its step the version', async () => {
    await write(
      { input: 'user\n1+1?', output: '2', gts: '2', score: 1, step: 7 },
      { input: 'user\n1+1?', output: '3', score: 0, step: 7 },
    );
    const { notes, ...report } = await shop.importing();
    expect(report).toMatchObject({ source: 'verl', trees: 1, rollouts: 2 });
    expect(notes.map(({ kind, field }) => [kind, field])).toEqual([
      ['reply-without-mask', null],
      ['field-not-read', 'gts'],
    ]);
    const rollouts = await shop.db.selectFrom('rollouts').selectAll().execute();
    expect(rollouts.map(({ policyId, policyVersion }) => [policyId, policyVersion])).toEqual([
      ['verl', 7],
      ['verl', 7],
    ]);
    // what tools said is in the same text, and no mask says where: nothing of it is trained on
    expect((await steps()).map(({ policySpans }) => policySpans[0]?.policyId)).toEqual(['verl:context', 'verl:context']);
  });

  test('rows of a rollout dump of verl are grouped by their uid, although they ask the same', async () => {
    const row = (uid: string) => ({ input: '1+1?', output: '2', score: 1, step: 7, uid });
    await write(row('a'), row('b'), row('a'));
    expect(await shop.importing()).toMatchObject({ trees: 2, rollouts: 3 });
  });

  test.each<[string, ExportFormat, object]>([
    ['openai', { kind: 'openai', weights: 'own', metadata: 'omit' }, {}],
    ['trl', { kind: 'trl', weights: 'own', metadata: 'omit' }, {}],
    ['sharegpt', { kind: 'sharegpt', weights: 'own' }, { id: null }],
    ['atif', { kind: 'atif', weights: 'own' }, {}],
    ['verl', { kind: 'verl', layout: 'step' }, {}],
  ])('a rollout that calls a tool comes back from a file of ours in the form %s', async (form, format, kept) => {
    await givenEvents(shop.db, withCall().events);
    await shop.exportTo('source', format);
    await shop.startAgain();
    await shop.importing();
    const [line] = await exported('again', { kind: 'openai', weights: 'own', metadata: 'omit' });
    const { id, ...call } = { id: 'c1', ...kept, type: 'function', function: { name: 'delete', arguments: '{"id":7}' } };
    const called = id === null ? call : { id, ...call };
    const result = { role: 'tool', content: 'deleted', ...(id === null ? {} : { tool_call_id: id }) };
    const expected = [
      { role: 'system', content: 'Craft what is asked.' },
      { role: 'user', content: 'Goal: craft task.' },
      { role: 'assistant', content: '', reasoning_content: 'Gone.', tool_calls: [called] },
      result,
      { role: 'assistant', content: 'It is gone.' },
    ];
    const messages = (line as { messages: readonly object[] }).messages.map(
      ({ weight: _, ...each }: { weight?: number }) => each,
    );
    expect(form === 'trl' ? messages.slice(0, 3) : messages).toEqual(form === 'trl' ? expected.slice(0, 3) : expected);
    expect(line).toMatchObject({ tools: [{ type: 'function', function: { name: 'delete' } }] });
  });

  test('results of verifiers become rollouts of their examples with their rewards', async () => {
    const prompt = [{ role: 'user', content: '1+1?' }];
    const completion = [{ role: 'assistant', content: '2' }];
    await write({ example_id: 3, prompt, completion, answer: '2', reward: 0.5, task: 'sums', metrics: { exact: 1 } });
    expect(await shop.importing()).toMatchObject({ source: 'verifiers', rollouts: 1 });
    expect(await shop.db.selectFrom('trees').select(['environment', 'alias']).execute()).toEqual([
      { environment: 'sums', alias: '3' },
    ]);
    expect(await shop.db.selectFrom('rewards').select('value').execute()).toEqual([{ value: 0.5 }]);
  });

  test.each<[string, readonly object[], readonly string[]]>([
    [
      'Claude Code',
      [
        { type: 'user', sessionId: 's-1', message: { role: 'user', content: 'List files.' } },
        { type: 'assistant', sessionId: 's-1', message: { role: 'assistant', content: [{ type: 'thinking', thinking: 'hm' }] } },
        { type: 'assistant', sessionId: 's-1', isSidechain: true, message: { role: 'assistant', content: 'of a sub-agent' } },
        { type: 'assistant', sessionId: 's-1', message: { role: 'assistant', content: [{ type: 'text', text: 'I look.' }] } },
        {
          type: 'assistant',
          sessionId: 's-1',
          message: { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'bash', input: { command: 'ls' } }] },
        },
        {
          type: 'user',
          sessionId: 's-1',
          message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'a.txt' }] },
        },
        { type: 'file-history-snapshot', messageId: 'm' },
      ],
      ['line-not-read file-history-snapshot', 'sidechain-left-out null'],
    ],
    [
      'Codex',
      [
        { type: 'session_meta', payload: { id: 's-1' } },
        {
          type: 'response_item',
          payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'List files.' }] },
        },
        {
          type: 'response_item',
          payload: { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I look.' }] },
        },
        { type: 'response_item', payload: { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] } },
        { type: 'response_item', payload: { type: 'custom_tool_call', name: 'bash', input: '{"command":"ls"}', call_id: 'c1' } },
        { type: 'response_item', payload: { type: 'custom_tool_call_output', output: 'a.txt', call_id: 'c1' } },
        { type: 'compacted', payload: { message: 'so far' } },
      ],
      ['session-compacted null'],
    ],
  ])(
    'a session of %s is one trajectory: calls of tools in the reply, their results behind it, and the rest counted',
    async (_, rows, left) => {
      await write(...rows);
      const { notes, ...report } = await shop.importing();
      expect(report).toMatchObject({ source: 'hf-trace', rollouts: 1, steps: 1 });
      expect(notes.map(({ kind, field }) => `${kind} ${field}`)).toEqual(left);
      const [step] = await steps();
      expect(step).toMatchObject({
        response: 'I look.',
        thought: 'hm',
        reply: { reasoning: true, toolCalls: [{ id: 'c1', name: 'bash', arguments: '{"command":"ls"}' }] },
        observation: 'a.txt',
      });
      expect(await shop.db.selectFrom('trees').select('alias').execute()).toEqual([{ alias: 's-1' }]);
    },
  );

  test.each<[string, object]>([
    ['the summary of another session', { type: 'summary', summary: 'List files', leafUuid: 'u' }],
    ['a snapshot of files', { type: 'file-history-snapshot', messageId: 'm', snapshot: { messageId: 'm' } }],
    ['a queued prompt', { type: 'queue-operation', operation: 'enqueue', sessionId: 's' }],
    ['a line of the system', { type: 'system', subtype: 'init', session_id: 's' }],
  ])('a session of Claude Code that begins with %s is known by what follows, and counts such lines', async (_, line) => {
    const said = (role: string) => ({ type: role, sessionId: 's', message: { role, content: role } });
    await write(...Array(30).fill(line), said('user'), said('assistant'));
    const { notes, ...report } = await shop.importing();
    expect(report).toMatchObject({ source: 'hf-trace', rollouts: 1, steps: 1 });
    expect(notes).toMatchObject([{ kind: 'line-not-read', rows: 1 }]);
  });

  test.each<[string, readonly object[]]>([
    [
      'openai',
      [
        {
          messages: [
            { role: 'user', content: 'q' },
            { role: 'assistant', content: 'a' },
            { role: 'system', content: 'Hurry.' },
            { role: 'assistant', content: 'b' },
          ],
        },
      ],
    ],
    [
      'atif',
      [
        {
          schema_version: 'ATIF-v1.7',
          agent: { name: 'a' },
          steps: [
            { step_id: 1, source: 'user', message: 'q' },
            { step_id: 2, source: 'agent', message: 'a' },
            { step_id: 3, source: 'system', message: 'Hurry.' },
            { step_id: 4, source: 'agent', message: 'b' },
          ],
        },
      ],
    ],
    [
      'hf-trace',
      ['user q', 'assistant a', 'developer Hurry.', 'assistant b'].map((said) => {
        const [role, text] = said.split(' ');
        return { type: 'response_item', payload: { type: 'message', role, content: [{ type: 'input_text', text }] } };
      }),
    ],
  ])('what the system says behind a reply is a message of the system before the next one (%s)', async (source, rows) => {
    await write(...rows);
    expect(await shop.importing()).toMatchObject({ source, steps: 2, notes: [] });
    expect((await steps()).map(({ observation }) => observation)).toEqual(['Hurry.', '']);
    for (const format of ['openai', 'atif'] as const) {
      await exported('source', format === 'atif' ? { kind: 'atif', weights: 'own' } : OPENAI);
      await shop.startAgain();
      await shop.importing();
      const [line] = await exported('again', OPENAI);
      expect(line.messages.map(({ role, content }: { role: string; content: string }) => `${role} ${content}`)).toEqual([
        'user q',
        'assistant a',
        'system Hurry.',
        'assistant b',
      ]);
    }
    for (const kind of ['sharegpt', 'xtuner'] as const)
      await expect(shop.exportTo('out', { kind, weights: 'own', metadata: 'omit' })).rejects.toThrow('not the first one');
  });

  test.each<[string, ExportFormat]>([
    ['atif', { kind: 'atif', weights: 'own' }],
    ['verl', { kind: 'verl', layout: 'step' }],
    ['jsonl', { kind: 'jsonl', scope: 'trajectories' }],
  ])(
    'examples between the instruction and the question of a task come back from a file of ours in the form %s',
    async (_, format) => {
      await givenEvents(shop.db, withExamples().events);
      const before = await exported('before', OPENAI);
      await shop.exportTo('source', format);
      await shop.startAgain();
      expect(await shop.importing()).toMatchObject({ trees: 1, rollouts: 1, steps: 2 });
      const root = await shop.db.selectFrom('steps').select('observation').where('depth', '=', 0).executeTakeFirstOrThrow();
      expect(root.observation).toBe('2+2?');
      expect(await shop.db.selectFrom('trees').select('instruction').executeTakeFirstOrThrow()).toEqual({ instruction: 'Add.' });
      expect(await exported('after', OPENAI)).toEqual(before);
      expect(before[0]).toMatchObject({ messages: Array(9).fill({}) });
    },
  );

  test('a line of ATIF has the examples of a task as copied context', async () => {
    await givenEvents(shop.db, withExamples().events);
    const [line] = await exported('atif', { kind: 'atif', weights: 'own' });
    const said = (line.steps as readonly Record<string, unknown>[]).map(
      ({ source, message, is_copied_context: copied, observation }) => ({ source, message, copied, observation }),
    );
    const results = [{ source_call_id: 'e1', content: '2' }];
    expect(said).toEqual([
      { source: 'system', message: 'Add.' },
      { source: 'user', message: '1+1?', copied: true },
      { source: 'agent', message: '', copied: true, observation: { results } },
      { source: 'agent', message: 'It is 2.', copied: true },
      { source: 'user', message: '2+2?' },
      { source: 'agent', message: '4?', observation: { results: [{ content: 'sure?' }] } },
      { source: 'agent', message: 'yes' },
    ]);
  });

  test('calls and results that an earlier capture recorded in texts are structure in exports and imports, and one alone is named', async () => {
    const call = { id: 'c1', name: 'look', arguments: '{"at":"x"}' };
    const flat = (reply: string, result: string): PolicyMessage[] => [
      textMessage('user', 'Look.'),
      textMessage('assistant', reply),
      textMessage('tool', result),
    ];
    const text = JSON.stringify({ tool_calls: [call] });
    const [opening, , result] = flat(text, `a cat${JSON.stringify({ tool_call_id: 'c1' })}`) as [
      PolicyMessage,
      PolicyMessage,
      PolicyMessage,
    ];
    const builder = new EventBuilder('flat');
    const tree = builder.tree(builder.run('flat'), 'task');
    const rollout = builder.rollout(tree, 0);
    const first = builder.step(tree, rollout, tree.rootStepId, 1, { response: `I look.\n${text}`, observation: 'a cat' });
    const last = builder.step(tree, rollout, first, 2, { response: 'A cat.', observation: '', termination: 'terminated' });
    const asked: PolicyMessage = {
      role: 'assistant',
      parts: [...textMessage('assistant', 'I look.').parts, ...textMessage('assistant', text).parts],
    };
    recordMessages(builder, tree, first, [opening]);
    recordMessages(builder, tree, last, [opening, asked, result]);
    builder.finishRollout(tree, rollout, last, { steps: 2 });
    await givenEvents(shop.db, builder.events);
    const { name, arguments: given } = call;
    const structured = {
      messages: [
        { role: 'user', content: 'Look.' },
        {
          role: 'assistant',
          content: 'I look.',
          tool_calls: [{ id: 'c1', type: 'function', function: { name, arguments: given } }],
          weight: 1,
        },
        { role: 'tool', content: 'a cat', tool_call_id: 'c1' },
        { role: 'assistant', content: 'A cat.', weight: 1 },
      ],
    };
    expect(await exported('out', OPENAI)).toEqual([structured]);
    const plain = (message: PolicyMessage) => ({
      role: message.role,
      content: message.parts.map((each) => ('text' in each ? each.text : '')).join(''),
    });
    await shop.startAgain();
    await write({ messages: [opening, asked, result].map(plain).concat({ role: 'assistant', content: 'A cat.' }) });
    expect(await shop.importing()).toMatchObject({ steps: 2, notes: [] });
    expect((await steps())[0]?.reply?.toolCalls).toEqual([call]);
    expect(await exported('out', OPENAI)).toEqual([structured]);
    await shop.startAgain();
    await write({
      messages: [opening, asked, textMessage('tool', 'a cat')].map(plain).concat({ role: 'assistant', content: 'A cat.' }),
    });
    expect((await shop.importing()).notes).toMatchObject([{ kind: 'calls-as-text' }]);
  });

  test.each<[string, readonly object[], string]>([
    ['a message without a role', [{ messages: [{ content: 'x' }] }], 'source line 1: messages.0.role:'],
    [
      'a picture in a chat',
      [
        {
          messages: [
            { role: 'user', content: 'q' },
            { role: 'assistant', content: 'a' },
          ],
        },
        {
          messages: [
            { role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] },
            { role: 'assistant', content: 'a' },
          ],
        },
      ],
      'an import takes texts alone, so leave the row out',
    ],
    [
      'a picture in a conversation of ShareGPT',
      [
        {
          conversations: [
            { from: 'human', value: '<image>What is it?' },
            { from: 'gpt', value: 'a cat' },
          ],
          images: ['cat.png'],
        },
      ],
      'source line 1: conversations.0.value: shows a picture',
    ],
    [
      'uneven log-probabilities of ATIF',
      [
        {
          schema_version: 'ATIF-v1.7',
          agent: { name: 'a' },
          steps: [
            { step_id: 1, source: 'user', message: 'x' },
            { step_id: 2, source: 'agent', message: 'y', metrics: { completion_token_ids: [1, 2], logprobs: [-1] } },
          ],
        },
      ],
      'source line 1: step 2: 2 completion_token_ids and 1 logprobs; give one of each',
    ],
    [
      'a chat without a reply',
      [asked('a'), { messages: [{ role: 'user', content: 'q' }] }],
      'source line 2: messages: holds no reply of an assistant, and a trajectory is made of replies; add what was answered, or leave the row out; nothing was imported',
    ],
    ['a chat without a message', [asked('a'), { messages: [] }], 'source line 2: messages: holds no reply of an assistant'],
    [
      'a role that nobody knows',
      [
        asked('a'),
        {
          messages: [
            { role: 'user', content: 'q' },
            { role: 'assistant', content: 'a' },
            { role: 'robot', content: 'b' },
          ],
        },
      ],
      'source line 2: messages.2.role: "robot" is none of system, developer, user, assistant, tool,',
    ],
    [
      'a conversation of ShareGPT without a reply',
      [{ system: 's', conversations: [{ from: 'human', value: 'q' }] }],
      'source line 1: conversations: holds no reply of an assistant',
    ],
    [
      'a completion without a reply',
      [{ prompt: 'q', completion: [{ role: 'robot', content: 'a' }] }],
      'source line 1: completion.0.role: "robot" is none of',
    ],
    ['an unknown form', [{ text: 'x', label: 1 }], 'its first row has text, label; name one by --format'],
  ])('%s is refused with its line and the remedy, and nothing is imported', async (_, rows, message) => {
    await write(...rows);
    await expect(shop.importing()).rejects.toThrow(message);
    expect(await shop.db.selectFrom('runs').selectAll().execute()).toEqual([]);
  });
});

const OPENAI: ExportFormat = { kind: 'openai', weights: 'own', metadata: 'omit' };

/** A rollout of a task with examples between its instruction and its question, as the Python client records them. */
function withExamples(): EventBuilder {
  const builder = new EventBuilder('examples');
  const tree = builder.tree(builder.run('examples'), 'task', { instruction: 'Add.', observation: '2+2?' });
  const rollout = builder.rollout(tree, 0);
  const first = builder.step(tree, rollout, tree.rootStepId, 1, { response: '4?', observation: 'sure?' });
  const last = builder.step(tree, rollout, first, 2, { response: 'yes', observation: '', termination: 'terminated' });
  const opening: PolicyMessage[] = [
    textMessage('system', 'Add.'),
    textMessage('user', '1+1?'),
    { role: 'assistant', parts: [{ kind: 'tool-call', id: 'e1', name: 'add', arguments: '{"of":[1,1]}' }] },
    { ...textMessage('tool', '2'), toolCallId: 'e1' },
    textMessage('assistant', 'It is 2.'),
    textMessage('user', '2+2?'),
  ];
  recordMessages(builder, tree, first, opening);
  recordMessages(builder, tree, last, [...opening, textMessage('assistant', '4?'), textMessage('user', 'sure?')]);
  builder.reward(tree, last, 1, { rolloutId: rollout, component: 'environment' });
  builder.finishRollout(tree, rollout, last, { success: true, steps: 2 });
  return builder;
}

/** A rollout that thinks, calls a tool and says what came of it. */
function withCall(): EventBuilder {
  const builder = new EventBuilder('called');
  const tree = builder.tree(builder.run('called'), 'task');
  const rollout = builder.rollout(tree, 0);
  const call = { id: 'c1', name: 'delete', arguments: '{"id":7}' };
  const said = { response: '', thought: 'Gone.', reply: { reasoning: true, toolCalls: [call] }, observation: 'deleted' };
  const first = builder.step(tree, rollout, tree.rootStepId, 1, said);
  const last = builder.step(tree, rollout, first, 2, { response: 'It is gone.', observation: '', termination: 'terminated' });
  const opening = [textMessage('system', 'Craft what is asked.'), textMessage('user', 'Goal: craft task.')]; // those of the tree
  const tools = JSON.stringify([{ type: 'function', function: { name: 'delete' } }]);
  const result: PolicyMessage = { ...textMessage('tool', 'deleted'), toolCallId: 'c1' };
  recordMessages(builder, tree, first, opening, { tools });
  recordMessages(builder, tree, last, [...opening, replyMessage(said), result], { tools });
  builder.reward(tree, last, 1, { rolloutId: rollout, component: 'environment' });
  builder.finishRollout(tree, rollout, last, { success: true, steps: 2 });
  return builder;
}

/** What a form can hold of a row: its ids are those of the run that it was imported into. */
function withoutIds(row: Readonly<Record<string, unknown>>): object {
  const { metadata, session_id: _s, trajectory_id: _t, group: _g, trajectory: _r, ...rest } = row;
  const said = metadata as { scores: object; policy: object; result: string; task: { alias: string } } | undefined;
  const {
    extra,
    steps: taken,
    ...plain
  } = rest as { extra?: { reward: number; espalier: Record<string, unknown> }; steps?: { extra?: object }[] };
  return {
    ...plain,
    ...(said ? { metadata: { policy: said.policy, result: said.result, alias: said.task.alias } } : {}),
    ...(taken ? { steps: taken.map(({ extra: _e, ...step }) => step) } : {}),
    ...(extra ? { extra: { reward: extra.reward, rewards: extra.espalier.rewards, success: extra.espalier.success } } : {}),
  };
}
