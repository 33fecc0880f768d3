import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Failure } from './failure.tsx';

/** Shows an answer, or that it is awaited, or why there is none. */
export function Shown<Answer>({
  of,
  children,
}: {
  readonly of: UseQueryResult<Answer>;
  readonly children: (answer: Answer) => ReactNode;
}) {
  if (of.data !== undefined)
    return (
      <>
        {of.error ? <Failure error={of.error} /> : null}
        {children(of.data)}
      </>
    );
  if (of.error) return <Failure error={of.error} />;
  return (
    <p className="loading" role="status">
      Loading…
    </p>
  );
}
