import { useMissing } from '../graphql/missing.ts';
import { whole } from './format.ts';
import { visible } from './plain-text.tsx';

const SHOWN = 5; // that differ; of the rest their number is said

/** Names the fields that could not be read where the rest of a page could: nothing is missing without a word. */
export function MissingNotice() {
  const missing = useMissing();
  if (missing.length === 0) return null;
  return (
    <div className="notice notice-bad" role="alert">
      <strong>Not everything on this page could be read.</strong>
      <ul className="plain">
        {missing.slice(0, SHOWN).map(({ field, code, message, times }) => (
          <li key={`${field} ${code} ${message}`}>
            <code>{visible(field)}</code>
            {`${times > 1 ? `, in ${whole(times)} places` : ''}: ${visible(message).slice(0, 500)} (${visible(code)})`}
          </li>
        ))}
      </ul>
      {missing.length > SHOWN ? `and ${whole(missing.length - SHOWN)} more` : ''}
    </div>
  );
}
