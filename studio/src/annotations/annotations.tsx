import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type AnnotationShownFragment, retractAnnotations, viewer } from '../../../graphql/studio/generated/operations.ts';
import { ask } from '../graphql/ask.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { isPage } from '../page/stored-page.ts';
import { decimal, instant } from '../parts/format.ts';
import { visible } from '../parts/plain-text.tsx';
import { useMoment } from '../shell/moment.ts';
import { type Annotatable, openAnnotator } from './open-annotator.ts';

const SHOWN = 300; // characters of a note

/** Shows what was said of something, each with what takes it back. */
export function Annotations({ of }: { readonly of: readonly AnnotationShownFragment[] }) {
  if (of.length === 0) return null;
  return (
    <ul className="plain annotations" aria-label="Annotations">
      {of.map((annotation) => (
        <li key={annotation.id}>
          <AnnotationText annotation={annotation} />
        </li>
      ))}
    </ul>
  );
}

/** One annotation: its label, score and note, and who added it. */
export function AnnotationText({ annotation }: { readonly annotation: AnnotationShownFragment }) {
  const at = useMoment();
  const queries = useQueryClient();
  const who = useAsk(viewer, {}).data?.viewer;
  const [fault, setFault] = useState('');
  const { id, treeId, label, score, note, author, principal, addedAt } = annotation;
  const may = at === null && who !== undefined && (who.principal === principal || who.scopes.includes('admin'));
  const retract = async () => {
    try {
      await ask(retractAnnotations, { ids: [id], tree: treeId, reason: '' });
      await queries.invalidateQueries();
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <span className="annotation" title={`by ${visible(author ?? principal)}, ${instant(addedAt)}`}>
      {label === null ? null : (
        <b>
          <bdi>{visible(label)}</bdi>
        </b>
      )}
      {score === null ? null : <span className="number">{decimal(score)}</span>}
      {note === '' ? null : (
        <bdi className="annotation-note">{visible(note.length > SHOWN ? `${note.slice(0, SHOWN)}…` : note)}</bdi>
      )}
      <span className="faint">
        <bdi>{visible(author ?? principal)}</bdi>
      </span>
      {may ? (
        <button
          type="button"
          className="quiet"
          aria-label={`retract ${visible(label ?? 'the annotation')}`}
          onClick={() => void retract()}
        >
          ×
        </button>
      ) : null}
      {fault === '' ? null : <span role="alert">{fault}</span>}
    </span>
  );
}

/** A button that opens the form for something. */
export function AnnotateButton({ what }: { readonly what: Annotatable }) {
  if (useMoment() !== null || isPage()) return null; // the past is not changed, nor is a page
  return (
    <button type="button" className="quiet" onClick={() => openAnnotator(what)}>
      Annotate
    </button>
  );
}
