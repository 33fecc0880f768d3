import { PlainText, visible } from '../parts/plain-text.tsx';

/** A call of a tool in a reply, as the model wrote it. */
export function RequestedTool({
  call: { id, name, arguments: given },
}: {
  readonly call: { readonly id: string | null; readonly name: string; readonly arguments: string | null };
}) {
  return (
    <div className="tool">
      <span className="state">{visible(name)}</span>
      {id === null ? null : <span className="faint"> {visible(id)}</span>}
      {given === null ? null : <PlainText text={given} />}
    </div>
  );
}
