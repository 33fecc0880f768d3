import { useQueryClient } from '@tanstack/react-query';
import { Dialog } from 'radix-ui';
import { type FormEvent, useState } from 'react';
import { annotate, labels, viewer } from '../../../graphql/studio/generated/operations.ts';
import { ask } from '../graphql/ask.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { Failure } from '../parts/failure.tsx';
import { visible } from '../parts/plain-text.tsx';
import type { Annotatable } from './open-annotator.ts';

const OFFERED = 9; // labels that are given by a click

/** Asks for a label, a score and a note, and records them. */
export function AnnotateForm({
  what,
  close,
  done,
}: {
  readonly what: Annotatable;
  readonly close: () => void;
  readonly done: (ids: readonly string[]) => void;
}) {
  const queries = useQueryClient();
  const who = useAsk(viewer, {});
  const known = useAsk(labels, {});
  const [label, setLabel] = useState('');
  const [score, setScore] = useState('');
  const [note, setNote] = useState('');
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<unknown>(null);
  const scopes = who.data?.viewer.scopes;
  const may = scopes === undefined || scopes.includes('annotate') || scopes.includes('admin');
  const says = label.trim() !== '' || score.trim() !== '' || note.trim() !== '';
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const said = { label: label.trim() || null, score: score.trim() === '' ? null : Number(score), note };
      const { annotate: recorded } = await ask(annotate, { annotations: [{ ...what.subject, ...said }] });
      await queries.invalidateQueries();
      done(recorded.ids);
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
          <Dialog.Title>Annotate {what.name}</Dialog.Title>
          {may ? null : (
            <p className="notice notice-bad" role="alert">
              The key of this page lacks the scope <code>annotate</code>: <code>espalier keys create --scopes read,annotate</code>{' '}
              makes one with it.
            </p>
          )}
          {fault === null ? null : <Failure error={fault} />}
          <form onSubmit={(event) => void submit(event)}>
            <label>
              Label
              <input value={label} list="labels" maxLength={100} onChange={(event) => setLabel(event.target.value)} />
            </label>
            <datalist id="labels">
              {known.data?.annotationLabels.map((each) => (
                <option key={each.label} value={each.label} />
              ))}
            </datalist>
            <span className="row">
              {known.data?.annotationLabels.slice(0, OFFERED).map((each) => (
                <button key={each.label} type="button" className="quiet" onClick={() => setLabel(each.label)}>
                  <bdi>{visible(each.label)}</bdi>
                </button>
              ))}
            </span>
            <label>
              Score
              <input type="number" step="any" value={score} onChange={(event) => setScore(event.target.value)} />
            </label>
            <label>
              Note
              <textarea rows={4} maxLength={10_000} value={note} onChange={(event) => setNote(event.target.value)} />
            </label>
            <div className="row">
              <button type="submit" disabled={!says || !may || busy}>
                Annotate
              </button>
              <Dialog.Close className="quiet">Cancel</Dialog.Close>
            </div>
          </form>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
