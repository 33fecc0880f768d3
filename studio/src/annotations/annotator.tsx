import { useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useState } from 'react';
import { retractAnnotations } from '../../../graphql/studio/generated/operations.ts';
import { ask } from '../graphql/ask.ts';
import { loadScript } from '../parts/load.ts';
import { useMoment } from '../shell/moment.ts';
import { type Annotatable, focused, onOpenAnnotator, openAnnotator } from './open-annotator.ts';

const Form = lazy(() => loadScript(() => import('./annotate-form.tsx')).then(({ AnnotateForm }) => ({ default: AnnotateForm })));

/** Opens the form for what is to be annotated, by a button or by the key `a`, and offers to undo what was said. */
export function Annotator() {
  const at = useMoment();
  const queries = useQueryClient();
  const [open, setOpen] = useState<Annotatable | null>(null);
  const [said, setSaid] = useState<{ readonly ids: readonly string[]; readonly text: string } | null>(null);
  useEffect(() => {
    if (at !== null) return;
    const press = (event: KeyboardEvent) => {
      if (event.key !== 'a' || event.ctrlKey || event.metaKey || event.altKey || isField(event.target)) return;
      if (document.querySelector('[role="dialog"]')) return;
      const what = focused();
      if (!what) return;
      event.preventDefault();
      openAnnotator(what);
    };
    addEventListener('keydown', press);
    const end = onOpenAnnotator(setOpen);
    return () => {
      removeEventListener('keydown', press);
      end();
    };
  }, [at]);
  const undo = async (ids: readonly string[]) => {
    try {
      await ask(retractAnnotations, { ids: [...ids], reason: 'undone' });
      setSaid({ ids: [], text: 'Retracted.' });
    } catch (error) {
      setSaid({ ids: [], text: error instanceof Error ? error.message : String(error) });
    }
    await queries.invalidateQueries();
  };
  return (
    <>
      {open === null ? null : (
        <Suspense fallback={null}>
          <Form
            what={open}
            close={() => setOpen(null)}
            done={(ids) => {
              setSaid({ ids, text: `Annotated ${open.name}.` });
              setOpen(null);
            }}
          />
        </Suspense>
      )}
      <div className="said" role="status">
        {said === null ? null : (
          <span className="panel">
            {said.text}{' '}
            {said.ids.length > 0 ? (
              <button type="button" onClick={() => void undo(said.ids)}>
                Undo
              </button>
            ) : null}{' '}
            <button type="button" className="quiet" aria-label="dismiss" onClick={() => setSaid(null)}>
              ×
            </button>
          </span>
        )}
      </div>
    </>
  );
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}
