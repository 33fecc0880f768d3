import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readHistories } from '../../../projections/images/read-segments.ts';
import { arbitraryRecord } from '../../../testing/arbitrary-record.ts';
import { datasetWorkshop } from '../../../testing/dataset-workshop.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { givenPrepared, projectingAppender } from '../../../testing/projecting-log.ts';
import { readModels } from '../../../testing/read-models.ts';
import { recordHistory, recordRenderSpec, recordSegment } from '../../../testing/record-images.ts';
import type { ExportFormat } from '../export/formats.ts';
import type { ImportOptions } from './import-trajectories.ts';

const ABSENT = { blob: 'a'.repeat(64), size: 1, mediaType: 'text/plain' };

const shop = datasetWorkshop();
const allEvents: ExportFormat = { kind: 'jsonl', scope: 'trajectories' };

describe('JSONL files of events', () => {
  test.each(['trajectories', 'trees'] as const)(
    'any record exported, imported into an empty database and exported again has equal bytes (%s)',
    async (scope) => {
      const format: ExportFormat = { kind: 'jsonl', scope };
      await fc.assert(
        fc.asyncProperty(arbitraryRecord, async (events) => {
          await shop.startAgain();
          await givenPrepared(shop.db, events, shop.blobs);
          const first = await readFile(await shop.exportTo('first', format));
          await shop.startAgain();
          await shop.importing({ source: shop.path('first') });
          const second = await readFile(await shop.exportTo('second', format));
          expect(second.equals(first)).toBe(true);
        }),
        { numRuns: 2 },
      );
    },
  );

  test('whole trees of any record are restored to the same read models, with the same bytes in every chat format', async () => {
    const formats: ExportFormat[] = [
      { kind: 'openai', weights: 'own', metadata: 'include' },
      { kind: 'sharegpt', weights: 'policy' },
      { kind: 'parquet', weights: 'policy' },
    ];
    const volatile = ['log_offset', 'offset', 'position', 'sequence', 'producer', 'body'];
    await fc.assert(
      fc.asyncProperty(arbitraryRecord, async (events) => {
        // A tree without a finished rollout is not exported; every tree here gets one.
        await shop.startAgain();
        await givenPrepared(shop.db, events, shop.blobs);
        const before = await Promise.all([
          ...formats.map((format) => shop.exportTo(format.kind, format)),
          shop.exportTo('all', { kind: 'jsonl', scope: 'trees' }),
        ]);
        const models = await readModels(shop.db, volatile);
        const files = await Promise.all(before.map((path) => readFile(path)));
        await shop.startAgain();
        await shop.importing({ source: shop.path('all') });
        const after = await readModels(shop.db, volatile);
        for (const [i, format] of formats.entries()) {
          const again = await readFile(await shop.exportTo(`${format.kind}-again`, format));
          expect(again.equals(files[i] ?? Buffer.alloc(0))).toBe(true);
        }
        const finished = new Set((await treesWithTrajectories()).map(({ treeId }) => treeId));
        for (const table of [
          'trees',
          'steps',
          'rollouts',
          'rewards',
          'reward_revisions',
          'returns',
          'backups',
          'node_statistics',
          'tool_calls',
        ])
          expect(after[table]).toEqual(models[table]?.filter((row) => finished.has(JSON.parse(row).tree_id)));
      }),
      { numRuns: 2 },
    );
  });

  test('an event says after an import which of its texts were replaced when it was recorded', async () => {
    const builder = new EventBuilder('repaired');
    const tree = builder.tree(builder.run());
    const rolloutId = builder.rollout(tree);
    const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1, { response: 'a\0b\ud800', termination: 'terminated' });
    builder.finishRollout(tree, rolloutId, leaf);
    await givenPrepared(shop.db, builder.events, shop.blobs);
    await shop.exportTo('first', { kind: 'jsonl', scope: 'trees' });
    await shop.startAgain();
    await shop.importing({ source: shop.path('first') });
    const steps = await shop.db.selectFrom('events').select('body').where('type', '=', 'StepTaken').execute();
    expect(steps.map(({ body }) => JSON.parse(body).repaired)).toEqual([['data.response']]);
  });

  const treesWithTrajectories = () =>
    shop.db.selectFrom('rollouts').select('treeId').where('finishedAt', 'is not', null).execute();

  test('a filtered export includes the prefix that another rollout walked, and is imported unchanged', async () => {
    const recorded = new EventBuilder();
    const tree = recorded.tree(recorded.run());
    const guide = recorded.rollout(tree, 0);
    const shared = recorded.step(tree, guide, tree.rootStepId, 1);
    const own = recorded.step(tree, guide, shared, 2);
    recorded.reward(tree, shared, 0.5);
    recorded.reward(tree, own, 1);
    recorded.finishRollout(tree, guide, own);
    const branch = recorded.rollout(tree, 1, { fromStepId: shared });
    const leaf = recorded.step(tree, branch, shared, 2);
    recorded.finishRollout(tree, branch, leaf, { success: false });
    recorded.reward(tree, null, -1, { rolloutId: branch });
    await givenPrepared(shop.db, recorded.events, shop.blobs);
    const failed = { success: 'false' };
    const first = await readFile(await shop.exportTo('first', allEvents, failed), 'utf8');
    const steps = first.split('\n').filter((line) => line.includes('"StepTaken"'));
    expect(steps.map((line) => JSON.parse(line).data.stepId)).toEqual([shared, leaf]);
    expect(first).not.toContain(own);
    await shop.startAgain();
    const report = await shop.importing({ source: shop.path('first') });
    expect(report).toMatchObject({ source: 'events', trees: 1, rollouts: 2, steps: 2, alreadyThere: 0 });
    expect(await shop.db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
    expect(await readFile(await shop.exportTo('second', allEvents, failed), 'utf8')).toBe(first);
  });

  test('history images take their specs and segments along, each once, and none of other trees', async () => {
    const recorded = new EventBuilder();
    const runId = recorded.run();
    const renderSpecId = recordRenderSpec(recorded, runId);
    const shared = recordSegment(recorded, runId, renderSpecId, 'shared');
    const large = recordSegment(recorded, runId, renderSpecId, 'x'.repeat(70_000));
    const foreign = recordSegment(recorded, runId, renderSpecId, 'foreign');
    const shows = [[shared], [shared, large], [foreign]];
    const steps = shows.map((segments, i) => {
      const tree = recorded.tree(runId, `tree ${i}`);
      const { steps } = recorded.walk(tree, 0, 2, i < 2 ? 1 : 0);
      const [first = '', second = ''] = steps;
      recordHistory(recorded, tree, { stepId: first, renderSpecId, segments });
      const prefix = { stepId: first, from: 0, to: segments.length };
      recordHistory(recorded, tree, { stepId: second, renderSpecId, segments: [shared], prefix });
      return { treeId: tree.treeId, id: second };
    });
    await givenPrepared(shop.db, recorded.events, shop.blobs);
    const successes = { success: 'true' };
    const first = await readFile(await shop.exportTo('first', allEvents, successes), 'utf8');
    const segmentsIn = first.split('\n').filter((line) => line.includes('"SegmentRendered"'));
    expect(segmentsIn.map((line) => JSON.parse(line).data.segmentId)).toEqual([shared, large]);
    await shop.startAgain();
    await shop.importing({ source: shop.path('first') });
    expect(await shop.db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
    expect([...(await readHistories(shop.db, steps)).values()]).toEqual([
      [shared, shared],
      [shared, large, shared],
    ]);
    expect(await readFile(await shop.exportTo('second', allEvents, successes), 'utf8')).toBe(first);
  });

  describe('payloads that a producer put into the blob store itself', () => {
    const config = (reference: unknown) => ({ note: reference, prompt: 'x'.repeat(70_000), looksLikeOne: ABSENT });

    /** A tree whose texts and arrays are references of every kind that no append makes, and one that an append makes. */
    async function producersOwn(): Promise<void> {
      const put = (bytes: Buffer, mediaType: string) => shop.blobs.put(bytes, mediaType);
      const text = 'text/plain; charset=utf-8';
      const recorded = new EventBuilder('own');
      const runId = recorded.run('run', { config: config(await put(Buffer.from('a note'), 'text/markdown')) });
      const tree = recorded.tree(runId, 'a', {
        instruction: await put(Buffer.from('short'), text),
        observation: await put(Buffer.from('<p>'.repeat(30_000)), 'text/html'),
      });
      const rollout = recorded.rollout(tree);
      const first = recorded.step(tree, rollout, tree.rootStepId, 1, {
        response: await put(Buffer.alloc(70_000, 0xff), text),
        observation: await put(Buffer.from('y'.repeat(70_000)), text),
        thought: { ...(await put(Buffer.from('z'.repeat(70_000)), text)), size: 1 },
        action: await put(Buffer.from(`NUL\0${'.'.repeat(70_000)}`), text),
        tokens: {
          ids: { dtype: 'int32', length: 1, bytes: await put(Buffer.alloc(4, 7), 'application/octet-stream') },
          logProbs: { dtype: 'float32', length: 20_000, bytes: await put(Buffer.alloc(80_000, 7), 'application/octet-stream') },
          mask: null,
        },
      });
      recorded.finishRollout(tree, rollout, first, { steps: 1 });
      await givenPrepared(shop.db, recorded.events, shop.blobs);
    }

    const bodies = async () =>
      (await shop.db.selectFrom('events').select('body').orderBy('eventId').execute()).map(({ body }) => {
        const { sequence: _, producer: __, ...rest } = JSON.parse(body);
        return rest;
      });

    test('payloads are restored with hash, media type and bytes, and the imported events equal those of the record', async () => {
      await producersOwn();
      const [before, held] = [await bodies(), new Map(shop.blobs.held)];
      const first = await readFile(await shop.exportTo('first', allEvents), 'utf8');
      await shop.startAgain();
      await shop.importing({ source: shop.path('first') });
      expect(await bodies()).toEqual(before);
      expect(new Map([...shop.blobs.held].sort())).toEqual(new Map([...held].sort()));
      expect(await readFile(await shop.exportTo('second', allEvents), 'utf8')).toBe(first);
      const lines = first
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(lines.filter((line) => 'blob' in line)).toHaveLength(7); // the two that an append makes again are inline
      expect(lines.at(-1)).toEqual({ end: { events: 5 } });
    });

    test('payloads imported into their own record change nothing', async () => {
      await producersOwn();
      const report = await shop.importing({ source: await shop.exportTo('first', allEvents) });
      expect(report).toMatchObject({ events: 5, alreadyThere: 5 });
    });

    test.each<[string, (line: string) => string | null, string]>([
      ['is missing', (line) => (line.includes('"blob":{"sha256"') ? null : line), 'which neither the file before this line nor'],
      ['has other content', (line) => line.replace(/"base64":"....../, '"base64":"AAAAAA'), 'has the content of'],
      ['is no base64', (line) => line.replace(/"base64":"....../, '"base64":"?'), 'the payload does not fit: blob.base64'],
    ])('a file in which one payload %s is refused with its line, and nothing is appended or stored', async (_, edit, message) => {
      await producersOwn();
      const lines = (await readFile(await shop.exportTo('first', allEvents), 'utf8')).trimEnd().split('\n');
      await shop.startAgain();
      const edited = lines.map((line) => (line.includes('"sha256"') ? edit(line) : line)).filter((line) => line !== null);
      await writeFile(shop.path('source'), `${edited.join('\n')}\n`);
      const appender = projectingAppender(shop.db, shop.blobs);
      await expect(shop.importing({ appender })).rejects.toMatchObject({
        code: 'bad-row',
        message: expect.stringMatching(new RegExp(` line \\d+: .*${message}`)),
      });
      expect([appender.appended, shop.blobs.held.size]).toEqual([[], 0]);
    });
  });

  test('an import into its own record, or a second one, appends nothing', async () => {
    const [events] = fc.sample(arbitraryRecord, { numRuns: 1, seed: 7 });
    await givenPrepared(shop.db, events ?? [], shop.blobs);
    const source = await shop.exportTo('all', { kind: 'jsonl', scope: 'trees' });
    const before = await readModels(shop.db);
    const appender = projectingAppender(shop.db, shop.blobs);
    const report = await shop.importing({ source, appender });
    expect(report.events).toBeGreaterThan(0);
    expect(report.alreadyThere).toBe(report.events);
    expect(report.receipts).toEqual([]);
    expect(appender.appended).toEqual([]);
    expect(await readModels(shop.db)).toEqual(before);
  });

  test('a stopped import resumes where it ended', async () => {
    const recorded = new EventBuilder();
    const runId = recorded.run();
    for (let i = 0; i < 200; i++) recorded.walk(recorded.tree(runId, `task ${i}`), 0, 2, 1);
    await givenPrepared(shop.db, recorded.events, shop.blobs);
    const source = await shop.exportTo('all', allEvents);
    const before = await readFile(source);
    await shop.startAgain();
    const stop = new AbortController();
    const onProgress: ImportOptions['onProgress'] = (progress) => {
      if (progress.kind === 'appending') stop.abort();
    };
    await expect(shop.importing({ source, signal: stop.signal, onProgress })).rejects.toThrow('aborted');
    const report = await shop.importing({ source });
    expect(report.alreadyThere).toBe(500);
    expect(report.events).toBe(1 + 200 * 6);
    expect((await readFile(await shop.exportTo('again', allEvents))).equals(before)).toBe(true);
  });

  test('an import killed at any append, before or after it is durable, ends with the same file', async () => {
    const recorded = new EventBuilder();
    const runId = recorded.run();
    const kills = 4;
    for (let i = 0; i < 40 * kills; i++) recorded.walk(recorded.tree(runId, `task ${i}`), 0, 2, 1);
    await givenPrepared(shop.db, recorded.events, shop.blobs);
    const source = await shop.exportTo('all', allEvents);
    const before = await readFile(source);
    await shop.startAgain();
    const inner = projectingAppender(shop.db, shop.blobs);
    const there: number[] = [];
    for (let kill = 0; kill < kills; kill++) {
      const after = kill % 2 === 1; // one of two gets 500 events further
      const appender: ImportOptions['appender'] = {
        async append(drafts) {
          if (after) await inner.append(drafts);
          throw new Error('killed');
        },
      };
      const died = await shop.importing({ source, appender }).catch((error: Error) => error.message);
      if (died !== 'killed') break; // all that it holds is there
      there.push(inner.appended.length);
    }
    const events = 1 + 40 * kills * 6;
    expect(there).toEqual(Array.from({ length: kills }, (_, kill) => Math.min(events, 500 * Math.ceil(kill / 2))));
    expect(await shop.importing({ source })).toMatchObject({ events, alreadyThere: events });
    expect((await readFile(await shop.exportTo('again', allEvents))).equals(before)).toBe(true);
  });

  describe('files that are refused whole', () => {
    async function refusal(edit: (lines: string[]) => string[]): Promise<string> {
      const recorded = new EventBuilder();
      const tree = recorded.tree(recorded.run());
      recorded.walk(tree, 0, 2, 1);
      await givenPrepared(shop.db, recorded.events, shop.blobs);
      const lines = (await readFile(await shop.exportTo('good', allEvents), 'utf8')).trimEnd().split('\n');
      await shop.startAgain();
      await writeFile(shop.path('source'), `${edit(lines).join('\n')}\n`);
      const appender = projectingAppender(shop.db, shop.blobs);
      const message = await shop.importing({ appender }).then(
        () => 'imported',
        (error: Error) => error.message,
      );
      expect(appender.appended).toEqual([]);
      return message;
    }
    const change = (i: number, from: RegExp, to: string) => (lines: string[]) =>
      lines.map((line, k) => (k === i ? line.replace(from, to) : line));

    // 1 header, 2 run, 3 tree, 4 rollout, 5 and 6 steps, 7 reward, 8 end of rollout, 9 the end
    test.each<[string, (lines: string[]) => string[], string]>([
      ['its last line is missing', (lines) => lines.slice(0, -1), 'line 8: the file is cut off after 7 events'],
      [
        'lines are missing',
        (lines) => lines.filter((_, i) => i !== 6),
        'line 8: the file ends with 6 events where it should hold 7',
      ],
      ['it is cut inside a line', (lines) => [...lines.slice(0, 4), lines[4]?.slice(0, 50) ?? ''], 'line 5: is not UTF-8 JSON'],
      ['something follows its end', (lines) => [...lines, lines[1] ?? ''], 'line 10: something follows'],
      ['its version is another', change(0, /"version":1/, '"version":2'), 'line 1: the file has version 2 of espalier-events'],
      ['a type is unknown', change(4, /"StepTaken"/, '"StepTook"'), 'line 5: type "StepTook" is not in the catalogue'],
      ['a field is of another kind', change(4, /"depth":1/, '"depth":"1"'), 'line 5: data.depth'],
      ['a depth does not follow', change(5, /"depth":2/, '"depth":3'), 'line 6: StepTaken'],
      [
        'an end counts other steps than lead to it',
        change(7, /"steps":2/, '"steps":3'),
        'data.steps: must be 2, the steps from where rollout',
      ],
      [
        'a rollout ends at a step that it did not take',
        (lines) => {
          const end = JSON.parse(lines[7] ?? '');
          const other = { ...JSON.parse(lines[3] ?? ''), id: end.correlationId };
          const started = { ...other, data: { ...other.data, rolloutId: other.data.fromStepId, ordinal: 1 } };
          const ended = { ...end, data: { ...end.data, rolloutId: other.data.fromStepId } };
          return lines.toSpliced(7, 1, JSON.stringify(started), JSON.stringify(ended));
        },
        'name the last step that it took, or the one that it began at',
      ],
      ['a step is missing', (lines) => lines.filter((_, i) => i !== 4), 'has no step'],
      ['a step comes before its parent', (lines) => lines.toSpliced(4, 2, lines[5] ?? '', lines[4] ?? ''), 'line 5: StepTaken'],
      [
        'two events state one fact otherwise',
        (lines) => {
          const said = JSON.parse(lines[4] ?? '');
          const other = { ...said, id: said.correlationId, data: { ...said.data, action: 'other' } };
          return lines.toSpliced(5, 0, JSON.stringify(other));
        },
        'line 6: StepTaken',
      ],
      ['an event occurs twice', (lines) => lines.toSpliced(5, 0, lines[4] ?? ''), 'line 6: StepTaken'],
      [
        'a tree has the id of its run',
        (lines) => {
          const [run, tree] = [JSON.parse(lines[1] ?? '').data.runId, JSON.parse(lines[2] ?? '').data.treeId];
          return lines.map((line) => line.replaceAll(tree, run));
        },
        'line 3: TreeOpened: the id',
      ],
      ['a tree was not opened', (lines) => lines.filter((_, i) => i !== 2), 'line 3: RolloutStarted'],
    ])('a file is refused whole when %s', async (_, edit, message) => {
      expect(await refusal(edit)).toContain(message);
    });
  });

  test('another fact under a recorded id is a conflict that names it, and nothing is appended', async () => {
    const recorded = new EventBuilder();
    recorded.walk(recorded.tree(recorded.run()), 0, 1, 1);
    await givenPrepared(shop.db, recorded.events, shop.blobs);
    const text = await readFile(await shop.exportTo('good', allEvents), 'utf8');
    await writeFile(shop.path('source'), text.replace('Inventory: You are not', 'Inventory: You were not'));
    const appender = projectingAppender(shop.db, shop.blobs);
    await expect(shop.importing({ appender })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('another StepTaken'),
    });
    expect(appender.appended).toEqual([]);
  });

  test('another word on a recorded entity under a new event id is a conflict, and the same word is there already', async () => {
    const recorded = new EventBuilder();
    recorded.walk(recorded.tree(recorded.run()), 0, 1, 1);
    await givenPrepared(shop.db, recorded.events, shop.blobs);
    const text = await readFile(await shop.exportTo('good', allEvents), 'utf8');
    const { id } = recorded.events.find(({ type }) => type === 'StepTaken') ?? {};
    const renamed = text.replace(id ?? '', recorded.id('another event'));
    await writeFile(shop.path('source'), renamed);
    expect(await shop.importing()).toMatchObject({ alreadyThere: recorded.events.length });
    await writeFile(shop.path('source'), renamed.replace('Inventory: You are not', 'Inventory: You were not'));
    const appender = projectingAppender(shop.db, shop.blobs);
    const message = expect.stringContaining(`another StepTaken of the same entity: event ${id} states it otherwise`);
    await expect(shop.importing({ appender })).rejects.toMatchObject({ code: 'conflict', message });
    expect(appender.appended).toEqual([]);
  });
});
