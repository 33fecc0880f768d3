import { useState } from 'react';

const SHOWN = 4_000; // characters
// Controls and marks that change the direction or the place of what follows: shown as their code, so that no text hides another.
const HIDDEN = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}]/gu;

/** Returns text in which nothing is invisible or changes what is around it. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (mark) => `\\u${(mark.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`);
}

/** Shows text of any length and script as it is, its lines kept; a long one in parts. */
export function PlainText({ text, className = '' }: { readonly text: string; readonly className?: string }) {
  const [shown, setShown] = useState(SHOWN);
  const part = text.length > shown ? text.slice(0, shown) : text;
  return (
    <div className={`text ${className}`} dir="auto">
      <bdi>{visible(part)}</bdi>
      {text.length > shown ? (
        <button type="button" className="more" onClick={() => setShown(shown * 8)}>
          {`show more (${text.length - shown} characters)`}
        </button>
      ) : null}
    </div>
  );
}

/** A token's text with its spaces and ends of lines to be seen. */
export function showWhitespace(text: string): string {
  return text === '' ? '∅' : visible(text).replaceAll(' ', '␣').replaceAll('\n', '↵').replaceAll('\t', '⇥');
}
