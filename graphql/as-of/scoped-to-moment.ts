import type { GraphQLResolveInfo } from 'graphql';
import type { Context } from '../context.ts';

/** Resolvers by type and field. Enums, scalars and subscriptions, which are no functions of a parent, stay as they are. */
type Resolvers = Readonly<Record<string, object>>;

/** Lets every resolver run in the context of the moment that its field is read at. */
export function scopedToMoment<R extends Resolvers>(resolvers: R): R {
  const scoped = Object.entries(resolvers).map(([type, fields]) => [type, isFieldMap(fields) ? scopedFields(fields) : fields]);
  return Object.fromEntries(scoped) as R; // the same types and fields, each function with the same signature
}

type Resolve = (parent: unknown, args: unknown, context: Context, info: GraphQLResolveInfo) => unknown;

function scopedFields(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).map(([field, resolve]) => [
      field,
      typeof resolve === 'function' ? scoped(resolve as Resolve) : resolve,
    ]),
  );
}

function scoped(resolve: Resolve): Resolve {
  return (parent, args, context, info) => resolve(parent, args, context.moments.contextOf(info.path, context), info);
}

/** A scalar is an instance of its class; the fields of a type are a plain object. */
function isFieldMap(value: object): boolean {
  return Object.getPrototypeOf(value) === Object.prototype;
}
