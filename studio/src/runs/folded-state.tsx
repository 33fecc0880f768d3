import { type ReactNode, useState } from 'react';

/** The filters of a list: open where there is room, else behind a line that says how many are given. */
export function FoldedState({ given, children }: { readonly given: number; readonly children: ReactNode }) {
  const [open] = useState(() => matchMedia('(min-width: 601px)').matches);
  return (
    <details className="folded" open={open}>
      <summary>{given === 0 ? 'Filters' : `Filters: ${given}`}</summary>
      {children}
    </details>
  );
}
