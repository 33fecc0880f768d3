import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';

/** Goes to the lineage of an id. */
export function TraceForm() {
  const navigate = useNavigate();
  const [id, setId] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void navigate({ to: '/view/lineage/$id', params: { id: id.trim() } });
  };
  return (
    <search>
      <form className="filters" onSubmit={submit}>
        <label>
          Lineage of an id, POLICY@VERSION, RELEASE@VERSION#LINE or POLICY#BATCH
          <input data-find value={id} size={44} onChange={(event) => setId(event.target.value)} />
        </label>
        <button type="submit" disabled={id.trim() === ''}>
          Trace
        </button>
      </form>
    </search>
  );
}
