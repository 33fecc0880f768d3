import { useNavigate } from '@tanstack/react-router';
import { Popover } from 'radix-ui';
import { type FormEvent, useState } from 'react';
import { useMoment } from './moment.ts';

/** Chooses the moment that the whole page shows: now, an instant, or a position of the log. */
export function MomentPicker({ position }: { readonly position: string | undefined }) {
  const at = useMoment();
  const navigate = useNavigate();
  const [open, setOpen] = useState(false);
  const [instant, setInstant] = useState('');
  const [offsets, setOffsets] = useState(at ?? '');
  const choose = (moment: string | undefined) => {
    setOpen(false);
    void navigate({ to: '.', search: (all: object) => ({ ...all, at: moment }) } as never);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    choose(instant === '' ? offsets.trim() : new Date(instant).toISOString());
  };
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger className="quiet">{at === null ? 'now' : 'as of …'}</Popover.Trigger>
      <Popover.Portal>
        <Popover.Content className="panel popover" align="end" aria-label="The moment that is shown">
          <form onSubmit={submit}>
            <label htmlFor="instant">Time</label>
            <input
              id="instant"
              type="datetime-local"
              step="1"
              value={instant}
              onChange={(event) => setInstant(event.target.value)}
            />
            <label htmlFor="offsets">or position</label>
            <input
              id="offsets"
              value={offsets}
              placeholder={position?.slice(0, 40) ?? 'runs.0:3,trees.2:41'}
              onChange={(event) => setOffsets(event.target.value)}
            />
            <div className="row">
              <button type="submit" disabled={instant === '' && offsets.trim() === ''}>
                Show
              </button>
              <button type="button" onClick={() => choose(undefined)}>
                Now
              </button>
            </div>
          </form>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
