import { Link } from '../parts/link.tsx';

/** What the link needs of a batch. */
export interface LinkedBatch {
  readonly ordinal: number;
  readonly policyId: string;
  readonly update: { readonly version: number } | null;
}

/** Leads to a batch, by the version that it made; to its policy while it has made none. */
export function BatchLink({ batch: { ordinal, policyId, update } }: { readonly batch: LinkedBatch }) {
  const search = update ? { policy: policyId, version: String(update.version) } : { policy: policyId };
  return <Link to="/view/training" search={search}>{`batch ${ordinal}`}</Link>;
}
