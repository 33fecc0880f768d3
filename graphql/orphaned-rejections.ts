import { GraphQLError } from 'graphql';

/**
 * Keeps a process alive whose queries reject promises that nothing awaits: a list of which one item fails at once leaves the
 * promises of the items before it to nobody. Their errors belong to a query that was answered with its first one.
 * @param onOther takes what no query rejected.
 */
export function ignoreOrphanedRejections(onOther: (reason: unknown) => void): void {
  process.on('unhandledRejection', (reason) => {
    if (!(reason instanceof GraphQLError)) onOther(reason);
  });
}
