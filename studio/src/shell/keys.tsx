import { useNavigate } from '@tanstack/react-router';
import { Dialog } from 'radix-ui';
import { useEffect, useState } from 'react';
import { isPage } from '../page/stored-page.ts';

/**
 * The keyboard: j and k move through what is marked `data-item`, Enter opens it, / goes to the words to look for or to Find, ? shows this. Keys that are typed into a
 * field stay there.
 */
export function Keys() {
  const [help, setHelp] = useState(false);
  const navigate = useNavigate();
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isField(event.target)) return;
      if (event.key === 'j') moveBy(1);
      else if (event.key === 'k') moveBy(-1);
      else if (event.key === '/') {
        const field = document.querySelector<HTMLInputElement>('[data-find]');
        if (field) {
          field.closest('details')?.setAttribute('open', ''); // filters may be folded
          field.focus();
        } else if (!isPage()) void navigate({ to: '/view/find' });
      } else if (event.key === '?') setHelp(true);
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, [navigate]);
  return (
    <Dialog.Root open={help} onOpenChange={setHelp}>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content className="panel dialog" aria-describedby={undefined}>
          <Dialog.Title>Keyboard</Dialog.Title>
          <dl className="facts">
            <dt>
              <kbd>j</kbd> <kbd>k</kbd>
            </dt>
            <dd>the next and the previous item</dd>
            <dt>
              <kbd>Enter</kbd>
            </dt>
            <dd>opens it</dd>
            <dt>
              <kbd>/</kbd>
            </dt>
            <dd>the words to look for on this page; where there are none, Find</dd>
            <dt>
              <kbd>a</kbd>
            </dt>
            <dd>annotates the step, rollout or row that has the focus</dd>
            <dt>
              <kbd>?</kbd>
            </dt>
            <dd>this</dd>
          </dl>
          <Dialog.Close className="quiet">Close</Dialog.Close>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

function moveBy(by: number): void {
  const items = [...document.querySelectorAll<HTMLElement>('[data-item]')];
  const at = items.indexOf(document.activeElement as HTMLElement);
  items[at === -1 ? (by > 0 ? 0 : items.length - 1) : Math.min(items.length - 1, Math.max(0, at + by))]?.focus();
}
