import { useEffect, useRef, useState } from 'react';
import frameDocument from '../../frame.html?raw';
import { isPage } from '../page/stored-page.ts';
import { PlainText, visible } from '../parts/plain-text.tsx';
import { RendererFrame } from './frame.ts';
import type { RendererInput } from './renderer.ts';

/** Shows a step as its environment draws it, in a frame that reaches nothing; where that fails, its text with the reason. */
export function OwnView({
  source,
  given,
  label,
}: {
  readonly source: string;
  readonly given: RendererInput;
  readonly label: string;
}) {
  const element = useRef<HTMLIFrameElement>(null);
  const frame = useRef<RendererFrame>(undefined);
  const loads = useRef(0);
  const newest = useRef(given);
  const [height, setHeight] = useState(120);
  const [failure, setFailure] = useState<string | null>(null);
  const [broken, setBroken] = useState<string | null>(null);
  newest.current = given;

  useEffect(() => {
    frame.current?.show(given);
  }, [given]);
  useEffect(() => () => frame.current?.close(), []);
  useColours(frame);

  const loaded = () => {
    if (!element.current) return;
    loads.current += 1;
    if (loads.current > 1) {
      frame.current?.close();
      return setBroken('its frame left its document');
    }
    frame.current = new RendererFrame(element.current, source, {
      shown: () => setFailure(null),
      failed: (_, reason) => setFailure(reason),
      broken: setBroken,
      height: setHeight,
    });
    frame.current.show(newest.current);
  };

  const reason = broken ?? failure;
  return (
    <>
      {reason === null ? null : (
        <>
          <p className="notice notice-bad" role="status">
            {`The environment's own view failed: ${visible(reason)}. Its text is shown.`}
          </p>
          <PlainText className="observation" text={given.steps[given.at]?.observation ?? ''} />
        </>
      )}
      {broken === null ? (
        <iframe
          {...(isPage() ? { srcDoc: frameDocument } : { src: '/frame.html' })}
          ref={element}
          className="own-view"
          title={label}
          sandbox="allow-scripts"
          referrerPolicy="no-referrer"
          hidden={failure !== null}
          style={{ height }}
          onLoad={loaded}
        />
      ) : null}
    </>
  );
}

/** Hands a change of the colours on to the frame. */
function useColours(frame: { readonly current: RendererFrame | undefined }): void {
  useEffect(() => {
    const changed = () => frame.current?.colours();
    const watch = new MutationObserver(changed);
    watch.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', changed);
    return () => {
      watch.disconnect();
      dark.removeEventListener('change', changed);
    };
  }, [frame]);
}
