import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { NotInPage, NotLetIn, Refused, ServerAway } from '../graphql/faults.ts';
import { keepKey } from '../graphql/key.ts';

/** Shows why something could not be read, and what to do. */
export function Failure({ error }: { readonly error: unknown }) {
  if (error instanceof NotLetIn) return <EnterKey />;
  if (error instanceof ServerAway) return null; // the frame of the page says so, once
  if (error instanceof NotInPage)
    return (
      <p className="faint">
        This is not in the page: look at it in the installation, or at <Link to="/">what is in it</Link>.
      </p>
    );
  const message = error instanceof Error ? error.message : String(error);
  return (
    <div className="notice notice-bad" role="alert">
      <strong>{error instanceof Refused ? `Refused (${error.code}).` : 'This cannot be shown.'}</strong> {message}
    </div>
  );
}

/** Asks for an API key where the server knows nobody without one. */
function EnterKey() {
  const [key, setKey] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    keepKey(key.trim());
    location.reload();
  };
  return (
    <form className="notice" onSubmit={submit}>
      <p>
        <strong>Who are you?</strong> On the machine of the installation open the link that <code>espalier token --link</code>{' '}
        prints. Elsewhere enter an API key that may read; it is kept until this tab is closed.
      </p>
      <label htmlFor="key">API key</label>{' '}
      <input id="key" type="password" autoComplete="off" value={key} onChange={(event) => setKey(event.target.value)} />{' '}
      <button type="submit" disabled={key.trim() === ''}>
        Enter
      </button>
    </form>
  );
}
