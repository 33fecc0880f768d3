import { GraphQLError, type GraphQLErrorExtensions } from 'graphql';

/** The codes in `extensions.code` of the errors that are meant for the caller; every other error is masked. */
export type ErrorCode =
  | 'BAD_USER_INPUT'
  | 'TREE_TOO_LARGE'
  | 'PATH_TOO_LARGE'
  | 'LIST_TOO_LARGE'
  | 'TEXTS_TOO_LARGE'
  | 'TEXT_MISSING'
  | 'PROMPT_UNREADABLE'
  | 'FORGOTTEN'
  | 'TIMED_OUT'
  | 'PROJECTION_STOPPED'
  | 'FORBIDDEN'
  | 'NOT_ON_RECORD'
  | 'CONFLICT'
  | 'LIMIT_EXCEEDED'
  | 'UNAVAILABLE';

/** Makes an error for the caller: what is wrong and what to do, with its code. */
export function refusal(code: ErrorCode, message: string, extensions: GraphQLErrorExtensions = {}): GraphQLError {
  return new GraphQLError(message, { extensions: { code, ...extensions } });
}
