import type { LineageNodeQuery, LinksShownFragment } from '../../../graphql/studio/generated/operations.ts';
import { decimal } from '../parts/format.ts';

export type Traced = NonNullable<LineageNodeQuery['trace']>;
type Links = LinksShownFragment;

/** Reads what is known of an id. `whole`: with its events and with all that was made of it, step by step. */
export type TraceOf = (id: string, whole: boolean) => Promise<Traced | null>;

/** What is drawn: something on record, or how much there is in one relation, which opens. */
export interface GraphNode {
  readonly key: string;
  readonly kind: 'thing' | 'count' | 'rest';
  /** What leads to it: an id, or the key that opens a count. */
  readonly to: string;
  /** What it is: `revision`, `policy version`, a relation. */
  readonly name: string;
  readonly text: string;
  /** Before what is asked for, itself, or behind it. */
  readonly side: -1 | 0 | 1;
  readonly open: boolean;
}

/** A graph of causes and effects. */
export interface Graph {
  readonly nodes: readonly GraphNode[];
  /** Pairs of keys: of this was made that. */
  readonly edges: readonly (readonly [string, string])[];
}

const FEW = 4; // of one relation are drawn one by one; more are a count that opens
const HOPS = 3; // behind which one goes on from another node
const ASKED = 10; // nodes of one hop on one side whose own links are read
// what is next to a thing and neither its origin nor made of it, or what a tree has thousands of: drawn at the thing alone
const NEAR = new Set([
  ...['step before', 'steps after', 'steps', 'rewards', 'images', 'image that was shown', 'render spec', 'segments'],
  ...['history that it continues', 'segments that were new', 'new in images', 'shown at steps', 'names', 'caused', 'caused by'],
  ...['has the id of another event in stream', 'replays', 'experiment'],
]);

/**
 * Gathers the graph around an id: what it was made of and what that was made of, and on the other side what was made of it, until
 * the evaluations. @param opened the counts that are open. @returns null where nothing on record has the id.
 */
export async function gatherGraph(traceOf: TraceOf, id: string, opened: ReadonlySet<string>): Promise<Graph | null> {
  const focus = await traceOf(id, true);
  if (!focus) return null;
  const graph = new GraphDraft(opened);
  graph.add({ key: focus.id, kind: 'thing', to: focus.id, name: focus.kind, text: focus.title, side: 0, open: false });
  const { total, first } = focus.madeBy ?? { total: 0, first: [] };
  const events = {
    relation: 'events',
    total,
    first: first.map(({ eventId, type, place }) => ({ id: eventId, text: `${type} ${place}` })),
  };
  let before = [...graph.link(focus.id, events, -1), ...focus.from.flatMap((links) => graph.link(focus.id, links, -1))];
  let after = focus.usedBy.flatMap((links) => graph.link(focus.id, links, 1));
  const ofEvent = focus.kind === 'event' && after[0] !== undefined ? await traceOf(after[0], true) : null; // of the event's tree or run
  for (let hop = 1; hop < HOPS; hop++) {
    const [causes, effects] = await Promise.all([readAll(traceOf, before), readAll(traceOf, after)]);
    for (const each of [...causes, ...effects]) graph.entitle(each);
    before = causes.flatMap((each) => far(each.from).flatMap((links) => graph.link(each.id, links, -1)));
    after = effects.flatMap((each) => far(each.usedBy).flatMap((links) => graph.link(each.id, links, 1)));
  }
  const made = ofEvent ?? focus;
  if (made.touched) await linkTouched(graph, traceOf, made.id, made.touched);
  return graph.finish(focus.id);
}

function far(links: readonly Links[]): readonly Links[] {
  return links.filter(({ relation }) => !NEAR.has(relation));
}

async function readAll(traceOf: TraceOf, ids: readonly string[]): Promise<readonly Traced[]> {
  const found = await Promise.all(ids.slice(0, ASKED).map((id) => traceOf(id, false)));
  return found.filter((each) => each !== null);
}

/** Adds the releases, batches, versions and evaluations that something went into, each behind what it was made of. */
async function linkTouched(
  graph: GraphDraft,
  traceOf: TraceOf,
  origin: string,
  touched: NonNullable<Traced['touched']>,
): Promise<void> {
  const { datasets, batches, versions, evaluations } = touched;
  const versionId = ({ policyId, version }: { readonly policyId: string; readonly version: number }) => `${policyId}@${version}`;
  const stations = [
    {
      relation: 'releases',
      total: touched.datasetsTotal,
      first: datasets.map((each) => ({ id: each.datasetId, text: `${each.name}@${each.version}` })),
    },
    {
      relation: 'batches',
      total: touched.batchesTotal,
      first: batches.map((each) => ({ id: each.batchId, text: `${each.policyId}#${each.ordinal}` })),
    },
    {
      relation: 'policy versions',
      total: touched.versionsTotal,
      first: versions.map((each) => ({ id: versionId(each), text: versionId(each) })),
    },
    {
      relation: 'evaluations',
      total: touched.evaluationsTotal,
      first: evaluations.map((each) => ({
        id: each.runId,
        text: `of ${versionId(each)}, mean return ${decimal(each.meanReturn)}`,
      })),
    },
  ].map((links) => graph.place(origin, links, 1));
  const [releases = [], ofBatches = [], ofVersions = [], ofEvaluations = []] = stations;
  const made = await readAll(
    traceOf,
    [...ofBatches, ...ofVersions].flatMap(({ ids }) => ids),
  );
  for (const each of made) for (const { first } of each.from) for (const { id } of first) graph.join(id, each.id);
  for (const { runId, ...version } of evaluations) graph.join(versionId(version), runId);
  graph.fallBack(releases, [origin]);
  graph.fallBack(ofBatches, [origin]);
  graph.fallBack(ofVersions, ofBatches.length > 0 ? headsOf(ofBatches) : releases.length > 0 ? headsOf(releases) : [origin]);
  graph.fallBack(ofEvaluations, ofVersions.length > 0 ? headsOf(ofVersions) : [origin]);
}

/** What is drawn of one relation: the node that leads to it, and the things. */
interface Placed {
  readonly head: string;
  readonly ids: readonly string[];
}

function headsOf(placed: readonly Placed[]): readonly string[] {
  return placed.map(({ head }) => head);
}

class GraphDraft {
  readonly #nodes = new Map<string, GraphNode>();
  readonly #edges = new Map<string, readonly [string, string]>();
  readonly #opened: ReadonlySet<string>;

  constructor(opened: ReadonlySet<string>) {
    this.#opened = opened;
  }

  add(node: GraphNode): boolean {
    if (this.#nodes.has(node.key)) return false;
    this.#nodes.set(node.key, node);
    return true;
  }

  /** Names what a thing is where the relation alone was known. */
  entitle({ id, kind, title }: Traced): void {
    const node = this.#nodes.get(id);
    const unnamed = node?.text === '' && /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(id); // `linear@0` names itself
    if (node && (unnamed || node.name === 'names')) this.#nodes.set(id, { ...node, name: kind, text: title });
  }

  /** Draws a relation at a thing. @returns the things that are new. */
  link(of: string, links: Links, side: -1 | 1): readonly string[] {
    const before = new Set(this.#nodes.keys());
    const placed = this.place(of, links, side);
    for (const { head } of placed) this.#edge(of, head, side);
    return placed.flatMap(({ ids }) => ids).filter((id) => !before.has(id));
  }

  /** Draws a relation, one by one where they are few, else as a count, and behind it what it holds where it is open. */
  place(of: string, { relation, total, first }: Links, side: -1 | 1): readonly Placed[] {
    const things = (name: string) =>
      first.map(({ id, text }) => {
        this.add({ key: id, kind: 'thing', to: id, name, text, side, open: false });
        return id;
      });
    if (total <= FEW) return things(relation).map((id) => ({ head: id, ids: [id] }));
    const key = `${of} ${relation}`;
    const open = this.#opened.has(key);
    this.add({ key, kind: 'count', to: key, name: relation, text: String(total), side, open });
    if (!open) return [{ head: key, ids: [] }];
    const ids = things(relation);
    for (const id of ids) this.#edge(key, id, side);
    if (total > first.length) {
      const rest = `${key} rest`;
      this.add({ key: rest, kind: 'rest', to: of, name: relation, text: String(total - first.length), side, open: false });
      this.#edge(key, rest, side);
    }
    return [{ head: key, ids }];
  }

  /** Joins what was made to what it was made of, where both are drawn. */
  join(cause: string, effect: string): void {
    const [a, b] = [this.#nodes.get(cause), this.#nodes.get(effect)];
    if (a && b && a.side <= b.side && cause !== effect) this.#edge(cause, effect, 1);
  }

  /** Hangs what nothing drawn leads to behind what surely came before it. */
  fallBack(placed: readonly Placed[], causes: readonly string[]): void {
    const led = new Set([...this.#edges.values()].map(([, to]) => to));
    for (const { head } of placed) if (!led.has(head)) for (const cause of causes) this.#edge(cause, head, 1);
  }

  #edge(from: string, to: string, side: -1 | 1): void {
    const edge = side === 1 ? ([from, to] as const) : ([to, from] as const);
    if (!this.#edges.has(JSON.stringify([edge[1], edge[0]]))) this.#edges.set(JSON.stringify(edge), edge);
  }

  finish(focus: string): Graph {
    const edges = withoutShortcuts([...this.#edges.values()]);
    const linked = new Set([focus, ...edges.flat()]);
    return { nodes: [...this.#nodes.values()].filter(({ key }) => linked.has(key)), edges };
  }
}

/** Leaves out shortcuts: a tree leads to a step by the rollout of that step. */
function withoutShortcuts(edges: Graph['edges']): Graph['edges'] {
  const leads = (from: string, to: string, shortcut: Graph['edges'][number]): boolean => {
    const seen = new Set([from]);
    for (const at of seen)
      for (const edge of edges) {
        if (edge[0] !== at || edge === shortcut) continue;
        if (edge[1] === to) return true;
        seen.add(edge[1]);
      }
    return false;
  };
  return edges.filter((edge) => !leads(edge[0], edge[1], edge));
}
