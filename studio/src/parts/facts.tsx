import { Fragment, type ReactNode } from 'react';

/** What is known of something, by name; what is false is left out. */
export function Facts({ of }: { readonly of: readonly (false | readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="facts">
      {of.map((fact) =>
        fact ? (
          <Fragment key={fact[0]}>
            <dt>{fact[0]}</dt>
            <dd>{fact[1]}</dd>
          </Fragment>
        ) : null,
      )}
    </dl>
  );
}

/** Figures beside one another, each under its name; what is false is left out. */
export function Figures({ of }: { readonly of: readonly (false | readonly [name: string, value: string, more?: ReactNode])[] }) {
  return (
    <div className="figures">
      {of.map((figure) =>
        figure ? (
          <div key={figure[0]} className="figure">
            <span className="faint">{figure[0]}</span>
            <b>{figure[1]}</b>
            {figure[2]}
          </div>
        ) : null,
      )}
    </div>
  );
}
