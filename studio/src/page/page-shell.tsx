import { Outlet } from '@tanstack/react-router';
import { instant } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Keys } from '../shell/keys.tsx';
import { ThemeButton } from '../shell/shell.tsx';
import type { StoredPage } from './stored-page.ts';

/** The frame of every view of a page that opens without a server: what it holds, since when, and what it does not. */
export function PageShell({ page: { record } }: { readonly page: StoredPage }) {
  return (
    <>
      <button type="button" className="skip" onClick={toMain}>
        Skip to content
      </button>
      <header className="bar">
        <Link to="/" className="brand">
          Espalier
        </Link>
        <span className="faint page-source">{`${visible(record.source)}, written ${instant(record.madeAt)}`}</span>
        <div className="bar-end">
          <ThemeButton />
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        {record.leftOut.length > 0 ? (
          <details className="notice left-out">
            <summary>This page does not hold everything</summary>
            <ul>
              {record.leftOut.map((each) => (
                <li key={each}>{visible(each)}</li>
              ))}
            </ul>
          </details>
        ) : null}
        <Outlet />
      </main>
      <Keys />
    </>
  );
}

/** Not by a link: the address after # is the view's. */
function toMain(): void {
  document.querySelector<HTMLElement>('#main')?.focus();
}
