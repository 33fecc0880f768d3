import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Failure } from './failure.tsx';
import { visible } from './plain-text.tsx';

/** Shows an answer, or that it is awaited, or why there is none. */
export function Query<Answer>({
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
  return <Loading />;
}

/** Shows what has an id, or that nothing has it. */
export function Found<Answer, One>({
  of,
  what,
  id,
  one,
  children,
}: {
  readonly of: UseQueryResult<Answer>;
  readonly what: string;
  readonly id: string;
  readonly one: (answer: Answer) => One | null;
  readonly children: (one: One) => ReactNode;
}) {
  return (
    <Query of={of}>
      {(answer) => {
        const found = one(answer);
        return found === null ? (
          <p className="empty">{`No ${what} has the id ${visible(id)} at this moment of the record.`}</p>
        ) : (
          children(found)
        );
      }}
    </Query>
  );
}

export function Loading() {
  return (
    <p className="loading" role="status">
      Loading…
    </p>
  );
}
