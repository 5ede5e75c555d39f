import type { ResultDocument } from '@isochron/sdk';
import { useMutation } from '@isochron/sdk/react';
import { type ReactNode, useState } from 'react';
import { addQuantity, edit, type Item } from '../shopping.js';

interface Props {
  readonly list: string;
  readonly item: ResultDocument<Item>;
}

/** The writes of one item. Live results show them in the same turn. */
function useItem(list: string, item: string) {
  const change = useMutation((client, fields: Parameters<typeof edit>[3]) => edit(client, list, item, fields));
  const count = useMutation((client, by: number) => addQuantity(client, list, item, by));
  return { change: change.mutate, count: count.mutate };
}

/** Attributes by which the tests of the example read what the page shows. */
const shown = ({ key, value, pending }: ResultDocument<Item>) => ({
  'data-item': key,
  'data-done': value.done,
  'data-removed': value.removed,
  'data-quantity': value.quantity,
  'data-pending': pending,
});

export function ItemRow({ list, item }: Props): ReactNode {
  const { text, quantity, done, by } = item.value;
  const { change, count } = useItem(list, item.key);
  const [isEditing, setEditing] = useState(false);
  const rename = (renamed?: string): void => {
    setEditing(false);
    if (renamed) change({ text: renamed });
  };
  return (
    <li {...shown(item)}>
      <label>
        <input type="checkbox" checked={done} onChange={() => change({ done: !done })} aria-label={`${text}: done`} />
      </label>
      {isEditing ? (
        <EditText text={text} end={rename} />
      ) : (
        <button
          type="button"
          className="text"
          title={`Added by ${by}. Click to rename.`}
          onClick={() => setEditing(true)}
        >
          {text}
        </button>
      )}
      <span className="by">{by}</span>
      <span className="quantity">
        <button type="button" aria-label={`${text}: one less`} disabled={quantity <= 1} onClick={() => count(-1)}>
          −
        </button>
        <output>{quantity}</output>
        <button type="button" aria-label={`${text}: one more`} onClick={() => count(1)}>
          +
        </button>
      </span>
      <button type="button" className="remove" aria-label={`${text}: remove`} onClick={() => change({ removed: true })}>
        ×
      </button>
    </li>
  );
}

export function RemovedItem({ list, item }: Props): ReactNode {
  const { change } = useItem(list, item.key);
  return (
    <li {...shown(item)}>
      {item.value.text}
      <button type="button" onClick={() => change({ removed: false })}>
        Put back
      </button>
    </li>
  );
}

/** A text that Enter or leaving the field stores, and Escape does not. */
function EditText({ text, end }: { readonly text: string; readonly end: (renamed?: string) => void }): ReactNode {
  const [draft, setDraft] = useState(text);
  const finish = (): void => (draft.trim() === text ? end() : end(draft.trim()));
  return (
    <input
      className="rename"
      aria-label={`${text}: new text`}
      ref={(field) => field?.focus()}
      value={draft}
      onChange={({ target }) => setDraft(target.value)}
      onBlur={finish}
      onKeyDown={({ key }) => {
        if (key === 'Enter') finish();
        if (key === 'Escape') end();
      }}
    />
  );
}
