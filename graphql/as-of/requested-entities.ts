import {
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  getArgumentValues,
  getNamedType,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from 'graphql';
import { isUuid } from '../../src/domain/ids.ts';
import type { Entities } from '../../src/projections/as-of/scope.ts';

/**
 * The fields with a resolver that follow from the stream of their tree alone. Fields without one are properties of a record that
 * was read; every other field with one, a new one too until it is named here, is taken to need the whole record.
 */
const OF_A_TREE: Readonly<Record<string, readonly string[]>> = {
  Tree: [
    ...['rootId', 'root', 'size', 'steps', 'leaves', 'rollouts', 'trajectories', 'revisions', 'judgements', 'simulations'],
    ...['divergences', 'largeTexts', 'annotations', 'outline'],
  ],
  TreeOutline: ['length', 'parents', 'executable', 'terminations', 'rewards', 'backUps'],
  Divergence: ['largeTexts'],
  Step: [
    ...[
      'tree',
      'parent',
      'children',
      'path',
      'rollout',
      'rewards',
      'statistics',
      'toolCalls',
      'historyImage',
      'prompt',
      'divergences',
      'annotations',
    ],
    'largeTexts',
  ],
  SearchStatistics: ['value'],
  ToolCall: ['largeTexts'],
  PackedArray: ['base64'],
  Reward: ['revisions'],
  Rollout: ['tree', 'imageTotals', 'leafId', 'leaf', 'return', 'rewards', 'trajectory', 'annotations'],
  Trajectory: ['tree', 'leafId', 'leaf', 'length', 'steps', 'rewards', 'returns'],
  Revision: ['tree', 'goodLeaf', 'badLeaf', 'branch', 'transition', 'rejectedAt', 'judgements', 'turns', 'annotations'],
  Annotation: ['tree', 'step', 'rollout', 'revision', 'author'],
  Judgement: ['step', 'largeTexts'],
  PromptPart: ['image'],
  HistoryImage: ['url', 'saved', 'hits', 'misses', 'factorChosenBy', 'step'],
};

/** Those that follow from the streams of a run and all its trees. */
const OF_A_RUN: Readonly<Record<string, readonly string[]>> = {
  ...OF_A_TREE,
  Run: [
    ...[
      'totals',
      'imageTotals',
      'historyImages',
      'successByDepth',
      'evaluation',
      'replays',
      'metrics',
      'trees',
      'rollouts',
      'trajectories',
    ],
    'revisions',
    'environments',
  ],
  RunEnvironment: ['renderer'],
  Evaluation: ['policy', 'run', 'confidence'],
  Tree: [...(OF_A_TREE.Tree ?? []), 'run'],
  Rollout: [...(OF_A_TREE.Rollout ?? []), 'run'],
};

interface Root {
  readonly entity: keyof Entities;
  readonly argument: string;
  readonly fields: typeof OF_A_TREE;
}
const ROOTS: Readonly<Record<string, Root>> = {
  run: { entity: 'runs', argument: 'id', fields: OF_A_RUN },
  tree: { entity: 'trees', argument: 'id', fields: OF_A_TREE },
  step: { entity: 'steps', argument: 'id', fields: OF_A_TREE },
  path: { entity: 'steps', argument: 'leaf', fields: OF_A_TREE },
  rollout: { entity: 'rollouts', argument: 'id', fields: OF_A_TREE },
  trajectory: { entity: 'rollouts', argument: 'rollout', fields: OF_A_TREE },
};

/**
 * Returns of which entities a query asks below a field of the type Query, where it asks of nothing else: their streams are enough
 * to answer it.
 */
export function requestedEntities(info: GraphQLResolveInfo): Entities | 'all' {
  const entities = { runs: new Set<string>(), trees: new Set<string>(), steps: new Set<string>(), rollouts: new Set<string>() };
  const query = info.schema.getQueryType();
  if (!query) return 'all';
  const enough = everyField(info, info.fieldNodes, query, (node, definition) => {
    const root = ROOTS[definition.name];
    if (!root) return false;
    const { [root.argument]: id, tree } = getArgumentValues(definition, node, info.variableValues);
    if (typeof id !== 'string' || !isUuid(id)) return false; // the resolver says what is wrong with it
    if (typeof tree !== 'string') entities[root.entity].add(id);
    else if (isUuid(tree)) entities.trees.add(tree);
    else return false;
    return staysWithin(info, node, definition, root.fields);
  });
  if (!enough) return 'all';
  const { runs, trees, steps, rollouts } = entities;
  return { runs: [...runs], trees: [...trees], steps: [...steps], rollouts: [...rollouts] };
}

function staysWithin(info: GraphQLResolveInfo, node: FieldNode, of: Definition, fields: typeof OF_A_TREE): boolean {
  const type = getNamedType(of.type);
  if (!isObjectType(type)) return true;
  return everyField(info, [node], type, (inner, definition, parent) => {
    if (definition.resolve !== undefined && !fields[parent.name]?.includes(definition.name)) return false;
    if (filtersByDataset(getArgumentValues(definition, inner, info.variableValues))) return false;
    return staysWithin(info, inner, definition, fields);
  });
}

/** What was released is recorded by other streams. */
function filtersByDataset({ filter }: Readonly<Record<string, unknown>>): boolean {
  return typeof filter === 'object' && filter !== null && 'dataset' in filter && filter.dataset != null;
}

type Definition = GraphQLField<unknown, unknown>;
type Judge = (node: FieldNode, definition: Definition, parent: GraphQLObjectType) => boolean;

/**
 * Returns whether a judgement holds for every field selected right below some nodes, through fragments; each fragment is looked
 * at once.
 */
function everyField(
  { fragments }: Pick<GraphQLResolveInfo, 'fragments'>,
  nodes: readonly FieldNode[],
  parent: GraphQLObjectType,
  judge: Judge,
): boolean {
  const seen = new Set<string>();
  const holds = (set: SelectionSetNode | undefined): boolean =>
    (set?.selections ?? []).every((node) => {
      if (node.kind === Kind.INLINE_FRAGMENT) return holds(node.selectionSet);
      if (node.kind === Kind.FRAGMENT_SPREAD) {
        if (seen.has(node.name.value)) return true;
        seen.add(node.name.value);
        return holds(fragments[node.name.value]?.selectionSet);
      }
      if (node.name.value.startsWith('__')) return true;
      const definition = parent.getFields()[node.name.value];
      return definition !== undefined && judge(node, definition, parent);
    });
  return nodes.every((node) => holds(node.selectionSet));
}
