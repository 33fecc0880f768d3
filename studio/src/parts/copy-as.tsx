import { DropdownMenu } from 'radix-ui';
import { useState } from 'react';
import type { Operation } from '../../../graphql/studio/operation.ts';
import { requestOf } from '../graphql/ask.ts';
import { isPage } from '../page/stored-page.ts';
import { useMoment } from '../shell/moment.ts';

/**
 * Copies what a view shows as a query, as Python, and as a command: that of the command line which answers the same, or one that
 * sends the query.
 */
export function CopyAs<Answer, Variables>({
  operation,
  variables,
  command,
}: {
  readonly operation: Operation<Answer, Variables>;
  readonly variables: Variables;
  readonly command?: string;
}) {
  const at = useMoment();
  const [copied, setCopied] = useState('');
  const { query, variables: given } = requestOf(operation, variables, at);
  const forms = [
    { name: 'GraphQL', text: `${query}\n\n# variables\n# ${JSON.stringify(given)}\n` },
    { name: 'Python', text: python(query, given) },
    ...(isPage() && command === undefined
      ? []
      : [{ name: 'command', text: at === null && command ? command : curl(query, given) }]),
  ];
  const copy = async ({ name, text }: { readonly name: string; readonly text: string }) => {
    await navigator.clipboard.writeText(text);
    setCopied(`copied as ${name}`);
  };
  return (
    <span className="copy-as">
      <DropdownMenu.Root>
        <DropdownMenu.Trigger className="quiet">Copy as …</DropdownMenu.Trigger>
        <DropdownMenu.Portal>
          <DropdownMenu.Content className="panel menu" align="end">
            {forms.map((form) => (
              <DropdownMenu.Item key={form.name} onSelect={() => void copy(form)}>
                {form.name}
              </DropdownMenu.Item>
            ))}
          </DropdownMenu.Content>
        </DropdownMenu.Portal>
      </DropdownMenu.Root>
      <span role="status" className="faint">
        {copied}
      </span>
    </span>
  );
}

function curl(query: string, variables: unknown): string {
  const body = JSON.stringify({ query, variables }).replaceAll("'", String.raw`'\''`);
  return `curl -s ${location.origin}/graphql -H "authorization: Bearer $(npx espalier token)" -H 'content-type: application/json' -d '${body}'\n`;
}

function python(query: string, variables: unknown): string {
  const values = JSON.stringify(JSON.stringify(variables));
  return `import json\nimport espalier_rl as er\n\ndb = er.connect()\nanswer = db.query("""\n${query}\n""", json.loads(${values}))\n`;
}
