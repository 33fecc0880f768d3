import { useQueryClient } from '@tanstack/react-query';
import { Dialog } from 'radix-ui';
import { type FormEvent, useState } from 'react';
import { type RequeueMutation, requeue, viewer } from '../../../graphql/studio/generated/operations.ts';
import { ask } from '../graphql/ask.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { Failure } from '../parts/failure.tsx';
import { count } from '../parts/format.ts';

/** Asks whether records are to be requeued from quarantine, and why, and requeues them. */
export function RequeueForm({
  places,
  close,
  done,
}: {
  readonly places: readonly string[];
  readonly close: () => void;
  readonly done: (requeues: RequeueMutation['requeue']) => void;
}) {
  const queries = useQueryClient();
  const who = useAsk(viewer, {});
  const [reason, setReason] = useState('');
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<unknown>(null);
  const scopes = who.data?.viewer.scopes;
  const may = scopes === undefined || scopes.includes('admin');
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const { requeue: requeues } = await ask(requeue, { places: [...places], reason: reason.trim() });
      await queries.invalidateQueries();
      done(requeues);
    } catch (error) {
      setFault(error);
      setBusy(false);
    }
  };
  return (
    <Dialog.Root open onOpenChange={(open) => !open && close()}>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content className="panel dialog annotate" aria-describedby={undefined}>
          <Dialog.Title>
            {places.length === 1 ? `Requeue ${places[0]}?` : `Requeue ${count(places.length, 'record')}?`}
          </Dialog.Title>
          <p>
            Each event is appended again, behind all there is in its partition, and counts from there on. What would be refused
            again stays as it is. This cannot be undone.
          </p>
          {may ? null : (
            <p className="notice notice-bad" role="alert">
              The key of this page lacks the scope <code>admin</code>: <code>espalier keys create --scopes admin</code> makes one
              with it.
            </p>
          )}
          {fault === null ? null : <Failure error={fault} />}
          <form onSubmit={(event) => void submit(event)}>
            <label>
              Reason, kept in the log
              <input value={reason} maxLength={2_000} onChange={(event) => setReason(event.target.value)} />
            </label>
            <div className="row">
              <button type="submit" disabled={!may || busy}>
                {busy ? 'Requeuing…' : 'Requeue'}
              </button>
              <Dialog.Close className="quiet">Cancel</Dialog.Close>
            </div>
          </form>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
