import { type GraphQLResolveInfo, getArgumentValues, isObjectType } from 'graphql';
import type { OfTree } from '../../src/projections/of-tree.ts';
import type { Context } from '../context.ts';
import { selectedFields } from '../selected-fields.ts';

/** Reads, for all steps of a tree at once, the lists that the query asks of each, in parallel. */
export async function readAheadOfSteps(
  treeId: string,
  steps: Iterable<OfTree>,
  { loaders }: Context,
  info: GraphQLResolveInfo,
): Promise<void> {
  const asked = selectedFields(info);
  const ahead = (list: { readAhead(records: readonly OfTree[]): Promise<void> }) => list.readAhead([...steps]);
  await Promise.all([
    asked.has('rewards') && ahead(loaders.rewardsOfStep),
    asked.has('historyImage') && ahead(loaders.historyImage),
    asked.has('toolCalls') && ahead(loaders.toolCalls),
    ...simulationsAsked(info).map((simulations) => loaders.statistics.readAhead({ treeId, simulations })),
  ]);
}

/** The values of `asOfSimulation` that the query asks `statistics` for; null stands for none, the statistics of now. */
function simulationsAsked(info: GraphQLResolveInfo): (number | null)[] {
  const type = info.schema.getType('Step');
  const definition = isObjectType(type) ? type.getFields().statistics : undefined;
  if (!definition) return [];
  const nodes = selectedFields(info).get('statistics') ?? [];
  const values = nodes.map((node) => getArgumentValues(definition, node, info.variableValues).asOfSimulation);
  return [...new Set(values.map((value) => (typeof value === 'number' ? value : null)))];
}
