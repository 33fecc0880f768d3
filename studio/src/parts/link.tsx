import { Link as Anywhere } from '@tanstack/react-router';
import type { ComponentProps, ReactNode } from 'react';
import { heldPage } from '../page/stored-page.ts';

/** What the views give a link, as far as it decides where that leads. */
interface Given {
  readonly to?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly search?: unknown;
  readonly className?: string;
  readonly children?: ReactNode;
}

/** A link of a view. What a page without a server does not hold is named and marked, and leads nowhere. */
export const Link = ((props: ComponentProps<typeof Anywhere>) => {
  const { to = '.', params, search, className = '', children } = props as unknown as Given; // parameters are objects of texts in all views
  const asked = typeof search === 'object' && search !== null ? search : {};
  if (heldPage()?.holds(to, params ?? {}, { ...asked }) ?? true) return <Anywhere {...props} />;
  return (
    <span className={`${className} absent`} title="not in this page">
      {children}
      <span className="only-read"> (not in this page)</span>
    </span>
  );
}) as typeof Anywhere;
