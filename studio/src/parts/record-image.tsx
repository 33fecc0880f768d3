import { useEffect, useState } from 'react';
import { authorization, readKey } from '../graphql/key.ts';

/** An image of the record. Where a key lets the page in the image is asked for with it, as an element `img` cannot. */
export function RecordImage({
  url,
  alt,
  width,
  height,
}: {
  readonly url: string;
  readonly alt: string;
  readonly width: number;
  readonly height: number;
}) {
  const [source, setSource] = useState(readKey() === null ? url : undefined);
  const [failed, setFailed] = useState('');
  useEffect(() => {
    if (readKey() === null) return setSource(url);
    let made: string | undefined;
    const ended = new AbortController();
    fetch(url, { headers: authorization(), signal: ended.signal })
      .then(async (answer) => {
        if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
        made = URL.createObjectURL(await answer.blob());
        setSource(made);
      })
      .catch((error: unknown) => ended.signal.aborted || setFailed(String(error)));
    return () => {
      ended.abort();
      if (made !== undefined) URL.revokeObjectURL(made);
    };
  }, [url]);
  if (failed) return <p className="notice notice-bad">{`The image cannot be shown: ${failed}`}</p>;
  return (
    <img
      src={source}
      alt={alt}
      width={width}
      height={height}
      loading="lazy"
      onError={() => source && setFailed('the record does not give it, or it is forgotten')}
    />
  );
}
