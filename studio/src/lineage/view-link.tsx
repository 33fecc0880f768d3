import { Link } from '../parts/link.tsx';

const VIEWS = {
  run: '/view/run/$id',
  tree: '/view/tree/$id',
  rollout: '/view/trajectory/$id',
  revision: '/view/revision/$id',
  dataset: '/view/dataset/$id',
} as const;

/** Leads to the view of what is traced, where it has one. */
export function ViewLink({ kind, id }: { readonly kind: string; readonly id: string }) {
  if (!Object.hasOwn(VIEWS, kind)) return null;
  return (
    <Link className="button" to={VIEWS[kind as keyof typeof VIEWS]} params={{ id }}>
      {`Show the ${kind}`}
    </Link>
  );
}
