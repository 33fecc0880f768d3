import { policies } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { isPage } from '../page/stored-page.ts';
import { visible } from '../parts/plain-text.tsx';
import { trainedBy } from './trained-by.ts';

/** Says of a sample that waits that nobody declared how its policy is trained, and how that is done. @param config of its run. */
export function Undeclared({ config }: { readonly config: unknown }) {
  const policy = trainedBy(config);
  const { data } = useAsk(policies, {}, { enabled: !isPage() && policy !== null });
  if (policy === null || !data || data.policies.some(({ id }) => id === policy)) return null;
  return (
    <p className="notice">
      {`It waits: nobody declared how ${visible(policy)} is trained. `}
      <code>client.declare({JSON.stringify(visible(policy))}, backend=…)</code> of Python does, or{' '}
      <code>{`PUT /v1/training/policies/${encodeURIComponent(policy)}`}</code>.
    </p>
  );
}
