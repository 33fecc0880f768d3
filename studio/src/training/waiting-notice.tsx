import { policyWaiting } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { Failure } from '../parts/failure.tsx';
import { visible } from '../parts/plain-text.tsx';

/** What the next batch of a policy waits for, as soon as it is known. It looks at every sample that waits: nothing waits for it. */
export function WaitingNotice({ policy }: { readonly policy: string }) {
  const { data, error } = useAsk(policyWaiting, { id: policy });
  const waiting = data?.policy?.waiting;
  return (
    <>
      {error ? <Failure error={error} /> : null}
      {waiting ? (
        <p className="notice">
          <strong>Waits for {waiting.for.replaceAll('_', ' ')}.</strong> {visible(waiting.next)}. Groups: {waiting.openGroups}{' '}
          open, {waiting.closedGroups} closed, {waiting.readyGroups} ready
          {waiting.rejectedGroups.map(({ reason, groups }) => `, ${groups} rejected (${reason})`).join('')}.
        </p>
      ) : null}
    </>
  );
}
