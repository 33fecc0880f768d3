import { catalogue, type Topic } from '../../events/catalogue.ts';
import { isDerived } from '../../events/derived-id.ts';
import type { Envelope } from '../../events/envelope.ts';
import type { Db } from '../../postgres/database.ts';
import { may, owns, type Principal, sees } from '../../postgres/principal.ts';
import { nonOwnerScope } from '../../projections/owners/non-owner-scope.ts';
import { opensStream, rootOf } from '../../projections/owners/owners.ts';
import { type Owner, readOwners } from '../../projections/owners/read-owners.ts';
import type { Cache } from '../../runtime/cache.ts';
import type { Problem } from '../reply.ts';
import type { SentEvent } from './check-events.ts';

/** An owner as this process knows it. One that it only claimed is looked up until the record has decided. */
export interface KnownOwner extends Pick<Owner, 'principal' | 'project'> {
  readonly from: 'record' | 'claim';
}

export interface OwnersWorld {
  readonly db: Db;
  /** By topic and stream. */
  readonly recent: Cache<KnownOwner>;
  /** Waits, within a limit, until the owners of all that these topics hold now are folded; returns whether they are. */
  readonly caughtUp: (topics: ReadonlySet<Topic>) => Promise<boolean>;
}

/** `release` gives the streams back that nothing was appended to: what follows in them is refused again until they are opened. */
export interface Claim {
  release(): void;
}

export type OwnerCheck =
  /** `claim` takes the streams that the events open for the principal; null when another took one meanwhile. */
  | { readonly kind: 'owned'; readonly claim: () => Claim | null }
  | { readonly kind: 'forbidden'; readonly problems: readonly Problem[] }
  | { readonly kind: 'unknown'; readonly problems: readonly Problem[] }
  /** The owners are too far behind the log to say: nothing is accepted on trust. */
  | { readonly kind: 'undecided' };

/**
 * Checks that a key may append events where it does. A stream belongs to who opened it, a tree to the owner of its run, opened or
 * not; others of the project add to it what their scope is for. A key sees its project alone: a stream of another one is not
 * there for it. Who works on this machine without a key is an administrator.
 */
export async function checkOwners(events: readonly SentEvent[], principal: Principal, world: OwnersWorld): Promise<OwnerCheck> {
  const checked = await checkEach(firstOfEach(events), principal, world);
  // which of all are refused is asked where one is
  return checked.kind === 'forbidden' || checked.kind === 'unknown' ? checkEach(events, principal, world) : checked;
}

/**
 * The first event of each type and run in each stream, to whose others the same rules apply; what opens a stream each by itself.
 */
function firstOfEach(events: readonly SentEvent[]): readonly SentEvent[] {
  const seen = new Map<string, Set<string>>();
  return events.filter(({ event }) => {
    const { stream, type, correlationId } = event;
    if (opensStream(event) || type === 'PromptShown' || type === 'AnnotationAdded') return true; // whose rule lies in their data
    const said = `${type} ${correlationId}`;
    const before = seen.get(stream);
    if (before?.has(said)) return false;
    if (before) before.add(said);
    else seen.set(stream, new Set([said]));
    return true;
  });
}

async function checkEach(events: readonly SentEvent[], principal: Principal, world: OwnersWorld): Promise<OwnerCheck> {
  const mine = { principal: principal.principal, project: principal.project, from: 'claim' } as const;
  const claim = () => {
    const keys = [...new Set(events.filter(({ event }) => claims(event)).map(({ event }) => keyOf(event)))];
    const taken = (key: string) => !owns(principal, (world.recent.get(key) ?? mine).principal);
    if (principal.keyId !== null && !may(principal, 'admin') && keys.some(taken)) return null;
    const claimed = keys.filter((key) => !world.recent.has(key));
    for (const key of claimed) world.recent.set(key, mine);
    return {
      release() {
        for (const key of claimed) if (world.recent.get(key) === mine) world.recent.delete(key);
      },
    };
  };
  if (principal.keyId === null) return { kind: 'owned', claim };

  // a stream is opened for what follows in the request alone: before that the record would show an event of a stream that nobody owns
  const opened = new Map<string, number>();
  for (const { index, event } of events) if (claims(event) && !opened.has(keyOf(event))) opened.set(keyOf(event), index);
  const needed = events.flatMap(({ event }) => [
    ...(isSegment(event) ? [] : [placeOf(event), ...rootPlaceOf(event)]),
    ...namedBy(event),
  ]);
  let known = await find(needed, world);
  // A stream that is opened here could have been opened a moment ago by another: trees follow from their run, the others wait.
  const open = needed.filter(
    ({ key, topic, needs }) => needs !== 'nothing' && !known.has(key) && (!opened.has(key) || topic !== 'trees'),
  );
  if (open.length > 0) {
    if (!(await world.caughtUp(new Set(open.map(({ topic }) => topic))))) return { kind: 'undecided' };
    known = await find(needed, world);
  }
  const judged = events.flatMap((sent) => {
    const { event } = sent;
    const scope = judgeScope(sent, principal);
    const ownerOf = (key: string) =>
      known.get(key) ?? ((opened.get(key) ?? Number.MAX_SAFE_INTEGER) <= sent.index ? mine : undefined);
    const named = namedBy(event).map((place) => judgeNamed(sent, principal, place, ownerOf(place.key)));
    if (isSegment(event)) return [scope, ...named];
    const own = { what: `stream ${event.stream}`, owner: ownerOf(keyOf(event)) };
    const root = rootOf(event);
    const above = { what: `run ${root}`, owner: ownerOf(`runs ${root}`) };
    const places = (root === null ? [own] : [above, own]).map((place) => judge(sent, principal, place));
    return [scope, ...(places.some((found) => found !== undefined) ? places : named)];
  });
  const forbidden = judged.flatMap((found) => (found?.kind === 'forbidden' ? [found.problem] : []));
  if (forbidden.length > 0) return { kind: 'forbidden', problems: forbidden };
  const unknown = judged.flatMap((found) => (found?.kind === 'unknown' ? [found.problem] : []));
  return unknown.length > 0 ? { kind: 'unknown', problems: unknown } : { kind: 'owned', claim };
}

interface Found {
  readonly kind: 'forbidden' | 'unknown';
  readonly problem: Problem;
}
/** A run, a tree or another stream, and who it belongs to. */
interface Held {
  readonly what: string;
  readonly owner: Pick<KnownOwner, 'principal' | 'project'> | undefined;
}

function problemOf({ index, event }: SentEvent, message: string, remedy: string, path?: string): Problem {
  return { index, id: event.id, path: path ?? `data.${catalogue[event.type].stream}`, message, remedy };
}

function judgeScope(event: SentEvent, principal: Principal): Found | undefined {
  const others = nonOwnerScope(event.event);
  const needs = others === null ? (['ingest'] as const) : ([others, 'ingest'] as const);
  if (needs.some((scope) => may(principal, scope))) return undefined;
  const problem = problemOf(event, `${event.event.type} needs the scope ${needs.join(' or ')}`, withScope(needs[0]), 'type');
  return { kind: 'forbidden', problem };
}

function judge(event: SentEvent, principal: Principal, { what, owner }: Held): Found | undefined {
  const { type, stream } = event.event;
  const forbidden = (message: string, remedy: string): Found => ({
    kind: 'forbidden',
    problem: problemOf(event, message, remedy),
  });
  const unknown = (): Found => ({
    kind: 'unknown',
    problem: problemOf(event, `no ${what} is on record`, 'append what opens it first, or earlier in the same request'),
  });
  if (owner === undefined) return unknown();
  if (owner.project !== principal.project) {
    if (sees(principal, owner.project))
      return forbidden(
        `the ${what} belongs to project ${owner.project}, and this request writes ${principal.project}`,
        `send the header espalier-project: ${owner.project}`,
      );
    if (opensStream(event.event) && what.endsWith(stream))
      return forbidden(`the id ${stream} is taken`, 'choose another: a random UUID is never taken');
    return unknown();
  }
  if (owns(principal, owner.principal) || may(principal, 'admin')) return undefined;
  const scope = nonOwnerScope(event.event);
  if (scope === null)
    return forbidden(
      `the ${what} belongs to another key: ${type} is accepted from its owner alone`,
      'send it with the key that opened it, with one that replaces it (`espalier keys replace ID`), or with one of the scope admin',
    );
  if (may(principal, scope)) return undefined;
  return forbidden(`the ${what} belongs to another key, and ${type} of others needs the scope ${scope}`, withScope(scope));
}

/**
 * An event is shown and counted with what it names of other streams, which is never of another project. What nobody opened is let
 * pass where nobody can know the id that it will have.
 */
function judgeNamed(event: SentEvent, { project }: Principal, named: Named, owner: KnownOwner | undefined): Found | undefined {
  if (owner === undefined ? named.needs === 'nothing' : owner.project === project) return undefined;
  const { what, stream, remedy, path } = named;
  return { kind: 'unknown', problem: problemOf(event, `no ${what} ${stream} is on record`, remedy, path) };
}

function isSegment(event: Envelope): boolean {
  return event.type === 'SegmentRendered';
}

function withScope(scope: string): string {
  return `make a key with it: \`espalier keys create --name NAME --scopes ${scope}\``;
}

interface Place {
  /** `nothing`: what nobody opened is let pass. */
  readonly needs?: 'nothing';
  readonly key: string;
  readonly topic: Topic;
  readonly stream: string;
}

function placeOf(event: Envelope): Place {
  return { key: keyOf(event), topic: catalogue[event.type].topic, stream: event.stream };
}

function rootPlaceOf(event: Envelope): readonly Place[] {
  const root = rootOf(event);
  return root === null ? [] : [{ key: `runs ${root}`, topic: 'runs', stream: root }];
}

/** A run, an experiment or a dataset that an event names. */
interface Named extends Place {
  readonly what: 'run' | 'experiment' | 'dataset';
  readonly path: string;
  readonly remedy: string;
}

/**
 * Lists what an event names: its run (of a segment, which is named by its content and which nobody owns, the one that it was drawn
 * for), of a run its experiment, of a release its runs, of the annotation of a row its dataset.
 */
function namedBy(event: Envelope): readonly Named[] {
  const { type, data, correlationId } = event;
  const place = (what: Named['what'], stream: string, path: string, remedy: string, isGuessable = true): Named => ({
    ...{ what, stream, path, remedy, key: `runs ${stream}`, topic: 'runs' },
    ...(isGuessable ? {} : { needs: 'nothing' }),
  });
  // whether the id of the run follows from what is known before the run begins, of whatever project
  const mayBegin = isDerived(correlationId) && correlationId !== event.stream;
  const remedy = `name the run that it ${isSegment(event) ? 'was drawn for' : 'belongs to'} as correlationId`;
  const own = place('run', correlationId, 'correlationId', remedy, mayBegin);
  if (type === 'RunStarted' && data.experimentId !== null) {
    const id = data.experimentId;
    return [own, place('experiment', id, 'data.experimentId', 'append its ExperimentDeclared first', isDerived(id))];
  }
  if (type === 'AnnotationAdded' && data.subject.kind === 'row') {
    const stream = data.subject.datasetId;
    const named = {
      what: 'dataset',
      stream,
      key: `datasets ${stream}`,
      topic: 'datasets',
      path: 'data.subject.datasetId',
    } as const;
    return [own, { ...named, remedy: 'append its DatasetReleased first' }];
  }
  if (type !== 'DatasetReleased') return [own];
  return [own, ...data.runs.map((id, i) => place('run', id, `data.runs.${i}`, 'append its RunStarted first'))];
}

function keyOf(event: Envelope): string {
  return `${catalogue[event.type].topic} ${event.stream}`;
}

/** What is named by its content has no owner. */
function claims(event: Envelope): boolean {
  return opensStream(event) && !isSegment(event);
}

/** Finds owners: those that the record decided from memory, the others in the read model, and what was claimed here last. */
async function find(places: readonly Place[], { db, recent }: OwnersWorld): Promise<ReadonlyMap<string, KnownOwner>> {
  const found = new Map<string, KnownOwner>();
  const asked = new Map<Topic, Set<string>>();
  for (const { key, topic, stream } of places) {
    const known = recent.get(key);
    if (known) found.set(key, known);
    if (known?.from === 'record') continue;
    const streams = asked.get(topic) ?? new Set();
    asked.set(topic, streams.add(stream));
  }
  for (const [topic, streams] of asked)
    for (const { stream, principal, project } of (await readOwners(db, topic, [...streams])).values()) {
      const owner = { principal, project, from: 'record' } as const;
      found.set(`${topic} ${stream}`, owner);
      recent.set(`${topic} ${stream}`, owner);
    }
  return found;
}
