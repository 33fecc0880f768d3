import { readdirSync, readFileSync } from 'node:fs';

const DOCS = new URL('../../../docs/', import.meta.url);

/**
 * Pages for those who change the code, or who write environments in TypeScript: what they ask for is done in a copy of the
 * checkout. That of all other pages is done where pip installed the packages.
 */
export const CHECKOUT_PAGES: readonly string[] = [
  'evidence/conformance',
  'guides/add-a-projection',
  'guides/add-an-environment',
  'guides/add-an-event',
  'guides/published-environments',
];

/** With an installation and packages of its own: cli/add-your-own.long.int.test.ts. */
const OF_ITS_OWN = 'guides/add-your-own';

/** Returns the names of the pages of docs, in order, and README; pages that are generated are left out. */
export function pageNames(): readonly string[] {
  return readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.includes('.vitepress') && !/^reference\/(?!index\.md$)/.test(name))
    .map((name) => name.replace(/\.md$/, ''))
    .concat('../README')
    .sort();
}

/** Returns the pages whose commands and programs are run where pip installed the packages. */
export function installedPages(): readonly string[] {
  return pageNames().filter((page) => ![...CHECKOUT_PAGES, OF_ITS_OWN, '../CONTRIBUTING'].includes(page));
}

export function readPage(page: string): string {
  return readFileSync(new URL(`${page}.md`, DOCS), 'utf8');
}
