import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLOutputType,
  getNamedType,
  isObjectType,
  isRequiredArgument,
} from 'graphql';
import { derivedId } from '../src/events/derived-id.ts';
import type { Envelope } from '../src/events/envelope.ts';
import { manifestHashOf } from '../src/events/manifest-hash.ts';
import type { Principal } from '../src/postgres/principal.ts';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { everyEvent } from '../src/testing/every-event.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import { createExecutableSchema } from './schema.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';
import { readEvents } from './testing/read-events.ts';

type Asking = Pick<TestGraphql, 'fetch' | 'ask'>;
const of = (project: string): Principal => ({
  principal: `key:${project}`,
  keyId: project,
  name: project,
  scopes: ['read'],
  project,
  projects: [project],
});
const stamped = (events: readonly Envelope[], project: string) =>
  events.map((event) => ({ ...event, principal: `key:${project}`, project }) as Envelope);

const UNBOUNDED = { tokens: 1e9, depth: 1e9, aliases: 1e9, cost: 1e12 };
const theirs = trained(everyEvent());
const mine = new EventBuilder('mine');
const run = mine.run('mine');
const tree = mine.tree(run);
const walked = mine.walk(tree, 0, 2, 1);
mine.finishRun(run);

/** Everything that names something of the other project: ids and digests, without those that both have. */
const NAMES = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{64}/g;
const own = new Set(JSON.stringify(mine.events).match(NAMES));
const foreign = new Set((JSON.stringify(theirs).match(NAMES) ?? []).filter((name) => !own.has(name)));
const leaks = (text: string) => [...foreign].filter((name) => text.includes(name));

let api: TestGraphql;
let me: Asking;
let everyone: Asking;
beforeAll(async () => {
  api = await openTestGraphql();
  await givenEvents(api.database.db, stamped(theirs, 'theirs'));
  await givenEvents(api.database.db, stamped(mine.events, 'mine'));
  // no payload of the fixtures is kept
  const options = { limits: UNBOUNDED, blobs: { get: async () => Buffer.from('a text') } };
  me = await api.create(options, of('mine'));
  everyone = await api.create(options);
});
afterAll(() => api.close());

function idOf(type: Envelope['type'], field: string): string {
  const data = theirs.find((event) => event.type === type)?.data as Record<string, unknown> | undefined;
  return String(data?.[field]);
}
const by = (argument: string, id: string) => ({ arguments: `(${argument}: ${JSON.stringify(id)})`, id });

/** How the other project's things are asked for by each field of Query: an id of theirs, or nothing for a list. */
const ROOTS: Readonly<Record<string, { readonly arguments: string; readonly id?: string } | 'list' | 'shared' | 'within'>> = {
  experiment: by('id', idOf('ExperimentDeclared', 'experimentId')),
  experiments: 'list',
  run: by('id', idOf('RunStarted', 'runId')),
  runs: 'list',
  tree: by('id', idOf('TreeOpened', 'treeId')),
  trees: 'list',
  step: by('id', idOf('StepTaken', 'stepId')),
  path: by('leaf', idOf('StepTaken', 'stepId')),
  rollout: by('id', idOf('RolloutStarted', 'rolloutId')),
  rollouts: 'list',
  trajectory: by('rollout', idOf('RolloutStarted', 'rolloutId')),
  trajectories: 'list',
  revision: by('id', idOf('RevisionComposed', 'revisionId')),
  dataset: by('id', idOf('DatasetReleased', 'datasetId')),
  datasets: 'list',
  annotation: by('id', idOf('AnnotationAdded', 'annotationId')),
  annotations: 'list',
  annotationLabels: 'list',
  policy: by('id', idOf('TrainingDeclared', 'policyId')),
  policies: 'list',
  batch: by('id', idOf('BatchPlanned', 'batchId')),
  trace: by('id', idOf('RunStarted', 'runId')),
  recall: { arguments: `(what: {run: ${JSON.stringify(idOf('RunStarted', 'runId'))}})`, id: idOf('RunStarted', 'runId') },
  steps: 'list',
  toolCalls: 'list',
  samples: 'list',
  tasks: 'list',
  aggregate: {
    arguments: `(by: RUN, filter: { runs: [${JSON.stringify(idOf('RunStarted', 'runId'))}] })`,
    id: idOf('RunStarted', 'runId'),
  },
  compare: { arguments: `(runs: ${JSON.stringify([run, idOf('RunStarted', 'runId')])})`, id: idOf('RunStarted', 'runId') },
  divergence: {
    arguments: `(a: ${JSON.stringify(walked.rolloutId)}, b: ${JSON.stringify(idOf('RolloutFinished', 'rolloutId'))})`,
    id: idOf('RolloutFinished', 'rolloutId'),
  },
  anomalies: 'list',
  quarantine: 'list',
  replays: 'list',
  verifications: 'list',
  projects: 'list',
  // how far the log and the projections are, and who asks, which name nothing
  position: 'shared',
  viewer: 'shared',
  lag: 'shared',
  // everything of Query once more
  waitFor: 'within',
  asOf: 'within',
};

const schema = await createExecutableSchema();
const query = schema.getQueryType() as GraphQLObjectType; // a schema without one is none

/** All that can be selected of a type without arguments, some levels deep; no type below itself. */
function selection(type: GraphQLOutputType, levels: number, above: readonly string[] = []): string {
  const named = getNamedType(type);
  if (!isObjectType(named)) return '';
  const fields = Object.values(named.getFields()).flatMap((field) => selected(field, levels, [...above, named.name]));
  return `{ __typename ${fields.join(' ')} }`;
}

function selected(field: GraphQLField<unknown, unknown>, levels: number, above: readonly string[]): string[] {
  if (field.args.some(isRequiredArgument)) return [];
  const type = getNamedType(field.type);
  if (!isObjectType(type)) return [field.name];
  if (levels === 0 || above.includes(type.name) || type.name === 'Query') return [];
  return [`${field.name} ${selection(field.type, levels - 1, above)}`];
}

function questionOf(name: string, asked: string, levels = 3): string {
  const field = query.getFields()[name];
  if (!field) throw new Error(`Query has no field ${name}`);
  return `${name}${asked} ${selection(field.type, levels)}`;
}

test('every field of Query has a rule here for what a key of another project gets', () => {
  expect(Object.keys(ROOTS).sort()).toEqual(Object.keys(query.getFields()).sort());
});

const byId = Object.entries(ROOTS).flatMap(([name, rule]) => (typeof rule === 'object' ? [{ name, rule }] : []));
const lists = Object.entries(ROOTS).flatMap(([name, rule]) => (rule === 'list' ? [name] : []));

describe('what belongs to another project', () => {
  test.each(byId)('$name answers as if it were not on record', async ({ name, rule }) => {
    const unknown = rule.id?.replace(/[0-9a-f]{4}/, 'abcd') ?? '';
    const shown = async (asking: Asking, asked: string, id: string) =>
      JSON.stringify(await asking.ask(`{ ${questionOf(name, asked)} }`)).replaceAll(id, '*');
    const whole = await everyone.ask(`{ ${questionOf(name, rule.arguments, name === 'batch' ? 0 : 2)} }`);
    expect(leaks(JSON.stringify(whole.data))).not.toEqual([]);
    const hidden = await shown(me, rule.arguments, rule.id ?? '');
    expect(hidden).toEqual(await shown(me, rule.arguments.replace(rule.id ?? '', unknown), unknown));
  });

  test.each(lists)('%s does not list it', async (name) => {
    const { data, errors } = await me.ask(`{ ${questionOf(name, '')} }`);
    expect(errors).toBeUndefined();
    expect(leaks(JSON.stringify(data))).toEqual([]);
  });

  test('no id or digest of it can be traced', async () => {
    for (const id of foreign) {
      const { data } = await me.ask(`{ ${questionOf('trace', `(id: "${id}")`)} }`);
      expect({ id, leaks: leaks(JSON.stringify(data)).filter((name) => name !== id) }).toEqual({ id, leaks: [] });
    }
  });

  test.each(['waitFor', 'asOf'])('it is not there within %s either', async (name) => {
    const { data } = await everyone.ask('{ position }');
    const position = [...new Set(theirs.map(({ type }) => type))].length > 0 ? await end() : data.position;
    const roots = [
      ...byId.map(({ name: root, rule }) => questionOf(root, rule.arguments, 1)),
      ...lists.map((root) => questionOf(root, '', 1)),
    ];
    const inner = `{ ${roots.filter((root) => !/^(recall|compare|divergence)/.test(root)).join(' ')} }`;
    const asked =
      name === 'asOf' ? `asOf(position: "${position}") ${inner}` : `waitFor(position: "${position}") { query ${inner} }`;
    const seen = await everyone.ask(`{ ${asked} }`);
    expect(leaks(JSON.stringify(seen.data))).not.toEqual([]);
    const answer = await me.ask(`{ ${asked} }`);
    expect(answer.errors).toBeUndefined();
    expect(leaks(JSON.stringify(answer.data))).toEqual([]);
    expect(JSON.stringify(answer.data)).toContain(run);
  });

  test('the live tail shows the events of the own project alone', async () => {
    const reader = await readEvents(me, { after: '' });
    const events = await reader.take(mine.events.length);
    await reader.leave();
    expect(new Set(events.map(({ id }) => id))).toEqual(new Set(mine.events.map(({ id }) => id)));
  });
});

test('a label that another project gave in the name of a run of the own one is not counted among its labels', async () => {
  const builder = new EventBuilder('smuggled');
  const { treeId } = builder.tree(builder.run('theirs too'));
  const subject = { kind: 'tree' } as const;
  const annotationId = builder.id('annotation');
  builder.record('AnnotationAdded', { annotationId, treeId, subject, label: 'smuggled', score: null, note: '' }, run);
  await givenEvents(api.database.db, stamped(builder.events, 'theirs'));
  const asked = `{ annotationLabels(run: "${run}") { label count } }`;
  expect((await everyone.ask(asked)).data).toEqual({ annotationLabels: [{ label: 'smuggled', count: 1 }] });
  expect((await me.ask(asked)).data).toEqual({ annotationLabels: [] });
  const theirOwn = await api.create({ limits: UNBOUNDED }, of('theirs'));
  expect((await theirOwn.ask(asked)).data).toEqual({ annotationLabels: [{ label: 'smuggled', count: 1 }] });
});

test('what belongs to the own project is all there', async () => {
  const { data, errors } = await me.ask(
    `{ runs { totalCount nodes { id project owner trees { nodes { id steps { id } } } } } path(leaf: "${tree.rootStepId}") { id }
       trajectories { totalCount } projects { name runs trees } }`,
  );
  expect(errors).toBeUndefined();
  expect(data).toEqual({
    runs: {
      totalCount: 1,
      nodes: [
        {
          id: run,
          project: 'mine',
          owner: 'key:mine',
          trees: { nodes: [{ id: tree.treeId, steps: [0, 1, 2].map(() => ({ id: expect.any(String) })) }] },
        },
      ],
    },
    path: [{ id: tree.rootStepId }],
    trajectories: { totalCount: 1 },
    projects: [{ name: 'mine', runs: 1, trees: 1 }],
  });
});

/** The end of all that was given. */
async function end(): Promise<string> {
  const rows = await api.database.db
    .selectFrom('cursors')
    .select(['topic', 'partition', 'nextOffset'])
    .where('projection', '=', 'journal')
    .execute();
  return rows.map(({ topic, partition, nextOffset }) => `${topic}.${partition}:${nextOffset}`).join(',');
}

/** The events of every type, with the ids of a lineage and its first batch as the platform derives them. */
function trained(events: readonly Envelope[]): readonly Envelope[] {
  const planned = events.find((event) => event.type === 'BatchPlanned');
  if (planned?.type !== 'BatchPlanned') throw new Error('there is one of every type');
  const lineageId = derivedId('lineage', planned.data.policyId);
  const text = JSON.stringify(events)
    .replaceAll(planned.data.batchId, derivedId('batch', lineageId, 0))
    .replaceAll(planned.data.lineageId, lineageId)
    .replace(/"ordinal":2,"policyVersion":3/, '"ordinal":0,"policyVersion":3')
    .replace(/"previousHash":"[0-9a-f]{64}"/, '"previousHash":null');
  const all = (JSON.parse(text) as readonly Envelope[]).map((event) =>
    event.type === 'BatchPlanned' ? { ...event, data: { ...event.data, manifestHash: manifestHashOf(event.data) } } : event,
  );
  const declared = ({ type }: Envelope) => type === 'TrainingDeclared';
  return [...all.filter(declared), ...all.filter((event) => !declared(event))];
}
