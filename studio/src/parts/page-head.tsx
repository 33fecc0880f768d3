import type { ReactNode } from 'react';
import { useEffect } from 'react';

/** The head of a view: where it lies, its name, and what can be done with it. */
export function PageHead({
  title,
  trail,
  children,
}: {
  readonly title: string;
  readonly trail?: ReactNode;
  readonly children?: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · Espalier`;
  }, [title]);
  return (
    <div className="page-head">
      {trail ? (
        <nav className="trail" aria-label="Where this lies">
          {trail}
        </nav>
      ) : null}
      <h1 dir="auto">{title}</h1>
      <div className="page-tools">{children}</div>
    </div>
  );
}
