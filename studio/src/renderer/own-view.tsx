import { useEffect, useRef, useState } from 'react';
import frameDocument from '../../frame.html?raw';
import { isPage } from '../page/stored-page.ts';
import { PlainText, visible } from '../parts/plain-text.tsx';
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

/** What happened to the steps that a frame was to show. */
interface FrameEvents {
  /** A step is shown, by the number it was asked with. */
  readonly shown: (number: number) => void;
  /** A step cannot be shown: the reason in words. The next one may be. */
  readonly failed: (number: number, reason: string) => void;
  /** The frame is of no use any more: the reason in words. */
  readonly broken: (reason: string) => void;
  readonly height: (pixels: number) => void;
}

const ANSWER_MS = 10_000; // the frame ends a renderer earlier, and says so
const LEAST = 40;
const MOST = 2_000; // pixels
const COLOURS = ['ground', 'surface', 'raised', 'line', 'ink', 'faint', 'accent', 'good', 'bad', 'mark'];

/** Talks with the document of a frame by a channel of its own: nothing else of the page reaches it. */
class RendererFrame {
  readonly #channel = new MessageChannel();
  readonly #on: FrameEvents;
  #number = 0;
  #answered = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  /** @param frame has loaded its document. */
  constructor(frame: HTMLIFrameElement, source: string, on: FrameEvents) {
    this.#on = on;
    this.#channel.port1.onmessage = ({ data }: MessageEvent<unknown>) => this.#receive(data);
    // its origin is opaque, so that it cannot be named; what is sent is a port alone
    frame.contentWindow?.postMessage('espalier-renderer/1', '*', [this.#channel.port2]);
    this.colours();
    this.#channel.port1.postMessage({ kind: 'renderer', text: source });
  }

  /** Asks for a step; of several, the newest is shown. @returns its number. */
  show(given: RendererInput): number {
    const number = ++this.#number;
    this.#channel.port1.postMessage({ kind: 'show', number, given });
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#break(`it did not answer within ${ANSWER_MS / 1_000} seconds`), ANSWER_MS);
    return number;
  }

  /** Hands the colours of the page on. */
  colours(): void {
    const style = getComputedStyle(document.documentElement);
    const values = COLOURS.map((name) => [`--${name}`, style.getPropertyValue(`--${name}`).trim()]);
    this.#channel.port1.postMessage({ kind: 'colours', values, scheme: style.colorScheme });
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#channel.port1.close();
  }

  #receive(data: unknown): void {
    if (this.#closed) return;
    const said = (typeof data === 'object' && data !== null ? data : {}) as Readonly<Record<string, unknown>>;
    const { kind, number, reason, height } = said;
    if (kind === 'height' && typeof height === 'number' && Number.isFinite(height))
      this.#on.height(Math.min(MOST, Math.max(LEAST, height)));
    else if ((kind === 'shown' || kind === 'failed') && this.#isAwaited(number)) {
      this.#answered = number;
      if (number === this.#number || kind === 'failed') clearTimeout(this.#timer);
      if (kind === 'shown') this.#on.shown(number);
      else this.#on.failed(number, String(reason).slice(0, 500));
    } else this.#break('it sent what nobody asked for');
  }

  #isAwaited(number: unknown): number is number {
    return typeof number === 'number' && number <= this.#number && number >= this.#answered;
  }

  #break(reason: string): void {
    this.close();
    this.#on.broken(reason);
  }
}
