import type { GraphiQLOptions } from 'graphql-yoga';
import type { ShippedOperation } from './persisted-operations.ts';

const TABS = ['recent-runs', 'best-trajectories', 'latest-trees', 'whole-tree', 'dataset-lineage', 'live-events', 'health'];

/** What the page opens with: the shipped operations, each in a tab, with variables where they need them. */
export function graphiqlOptions(operations: readonly ShippedOperation[]): GraphiQLOptions {
  const textOf = (name: string) => operations.find((operation) => operation.name === name)?.text ?? null;
  return {
    title: 'Espalier',
    defaultQuery: textOf('recent-runs') ?? '',
    defaultTabs: TABS.map((name) => ({ query: textOf(name), variables: VARIABLES[name] ?? '{}' })),
    subscriptionsProtocol: 'SSE',
    defaultEditorToolsVisibility: 'variables',
  };
}

const VARIABLES: Readonly<Record<string, string>> = {
  'best-trajectories': '{ "first": 3, "filter": { "success": true } }',
  'whole-tree': '{ "id": "an id from the tab LatestTrees" }',
  'live-events': '{ "after": "", "types": ["RolloutFinished"] }',
};

let page: Promise<typeof import('@graphql-yoga/render-graphiql')> | undefined;

/**
 * Returns the page with its scripts inside: yoga's own loads them from a CDN and is blank on a machine without network. The
 * package is 9 MB of text, so it is loaded when somebody first opens the page.
 */
export async function renderPage(options: GraphiQLOptions): Promise<string> {
  page ??= import('@graphql-yoga/render-graphiql');
  return (await page).renderGraphiQL(options);
}
