import { Link as Anywhere } from '@tanstack/react-router';
import type { ComponentProps, ReactNode } from 'react';
import { heldPage } from './stored-page.ts';

export * from '@tanstack/react-router';

/** What the views give a link, as far as it decides where that leads. */
interface Given {
  readonly to?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly search?: unknown;
  readonly className?: string;
  readonly children?: ReactNode;
}

/** A link of a view, in a page without a server: what the page does not hold is named and marked, and leads nowhere. */
export function Link(given: ComponentProps<typeof Anywhere>) {
  const { to = '.', params, search, className = '', children } = given as unknown as Given; // parameters are objects of texts in all views
  const asked = typeof search === 'object' && search !== null ? search : {};
  if (heldPage().holds(to, params ?? {}, { ...asked })) return <Anywhere {...given} />;
  return (
    <span className={`${className} absent`} title="not in this page">
      {children}
      <span className="only-read"> (not in this page)</span>
    </span>
  );
}
