import { Link } from '../parts/link.tsx';

const VIEWS = {
  run: '/view/run/$id',
  tree: '/view/tree/$id',
  rollout: '/view/trajectory/$id',
  revision: '/view/revision/$id',
  dataset: '/view/dataset/$id',
} as const;

/** Leads to the view of what is traced, where it has one. */
export function ViewLink({ kind, id, tree }: { readonly kind: string; readonly id: string; readonly tree: string | undefined }) {
  if (!Object.hasOwn(VIEWS, kind)) return null;
  return (
    <Link className="button" to={VIEWS[kind as keyof typeof VIEWS]} params={{ id }} search={{ tree }}>
      {`Show the ${kind}`}
    </Link>
  );
}
