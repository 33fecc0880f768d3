import { type ReactNode, useState } from 'react';

/** The pages that were opened of a list, by the cursor that each begins behind. */
export interface Pages {
  /** The variables that ask for the page that is shown. */
  readonly variables: { readonly after?: string };
  readonly opened: number;
  open(after: string): void;
  back(): void;
}

/** @param list what is listed: another list begins at its first page. */
export function usePages(list: string): Pages {
  const [state, setState] = useState<{ readonly list: string; readonly opened: readonly string[] }>({ list, opened: [] });
  const opened = state.list === list ? state.opened : [];
  const after = opened.at(-1);
  return {
    variables: after === undefined ? {} : { after },
    opened: opened.length,
    open: (next) => setState({ list, opened: [...opened, next] }),
    back: () => setState({ list, opened: opened.slice(0, -1) }),
  };
}

interface PagingProps {
  readonly pages: Pages;
  readonly info: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  readonly of: string;
  readonly children?: ReactNode;
}

/** Buttons that go to the next page of a list, and back. */
export function Paging({ pages, info: { hasNextPage, endCursor }, of, children }: PagingProps) {
  return (
    <div className="row">
      {pages.opened > 0 ? (
        <button type="button" onClick={pages.back}>
          Back
        </button>
      ) : null}
      {hasNextPage && endCursor !== null ? (
        <button type="button" onClick={() => pages.open(endCursor)}>
          {`Further ${of}`}
        </button>
      ) : null}
      {children}
    </div>
  );
}
