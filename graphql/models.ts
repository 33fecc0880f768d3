/** Query has no properties of its own: every field of it is a resolver. */
export type Root = Readonly<Record<never, never>>;

export interface ReachedModel {
  readonly position: string;
  readonly waitedMs: number;
  readonly query: Root;
}
