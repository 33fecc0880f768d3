import { Link, Outlet } from '@tanstack/react-router';
import { useState } from 'react';
import { instant } from '../parts/format.ts';
import { visible } from '../parts/plain-text.tsx';
import { Keys } from '../shell/keys.tsx';
import { chosenTheme, nextTheme } from '../shell/theme.ts';
import { heldPage } from './stored-page.ts';

/** The frame of every view of a page that opens without a server: what it holds, since when, and what it does not. */
export function PageShell() {
  const { record } = heldPage();
  const [theme, setTheme] = useState(chosenTheme);
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
          <button type="button" className="quiet" onClick={() => setTheme(nextTheme())}>
            {`${theme} colours`}
          </button>
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
