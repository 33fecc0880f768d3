import { readTypeDefs } from '../../graphql/type-defs.ts';

/** Returns the page of the GraphQL schema: the SDL, which documents every type and field. */
export async function graphqlReference(): Promise<string> {
  return [
    '# GraphQL schema\n',
    'Made from the code by `npm run docs:reference`. The page at `/graphql` of a running server has the same documentation next to an editor.\n',
    `\`\`\`graphql schema\n${(await readTypeDefs()).trim()}\n\`\`\`\n`,
  ].join('\n');
}
