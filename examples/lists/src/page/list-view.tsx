import type { ResultDocument } from '@isochron/sdk';
import { useLiveCut, useMutation } from '@isochron/sdk/react';
import type { ReactNode } from 'react';
import { addItem, type Item, invite, listWithItems, removeAll } from '../shopping.js';
import { ItemRow, RemovedItem } from './item-row.js';
import { LineForm } from './line-form.js';

/** A list with its items: one snapshot in every render. */
export function ListView({ id, member }: { readonly id: string; readonly member: string }): ReactNode {
  const cut = useLiveCut((client) => listWithItems(client, id));
  const add = useMutation((client, text: string) => addItem(client, id, text, member));
  const share = useMutation((client, guest: string) => invite(client, id, guest));
  const list = cut?.list.value;
  if (cut === undefined || list === undefined) return <p className="waiting">Loading …</p>;
  const { documents } = cut.items;
  const here = documents.filter(({ value }) => !value.removed);
  return (
    <article data-list={id} data-added={list.added} data-snapshot={cut.snapshot}>
      <header className="title">
        <h2>{list.name}</h2>
        <p className="members">
          {list.members.map((name) => (
            <span key={name} className="avatar" title={name}>
              {name.slice(0, 2)}
            </span>
          ))}
        </p>
        <LineForm label="Invite" submit={share.mutate} />
      </header>
      <LineForm label="Add an item" submit={add.mutate} />
      <ul className="items">
        {here.map((item) => (
          <ItemRow key={item.key} list={id} item={item} />
        ))}
      </ul>
      <Footer list={id} added={list.added} documents={documents} />
    </article>
  );
}

interface FooterProps {
  readonly list: string;
  readonly added: number;
  readonly documents: readonly ResultDocument<Item>[];
}

function Footer({ list, added, documents }: FooterProps): ReactNode {
  const here = documents.filter(({ value }) => !value.removed);
  const done = here.filter(({ value }) => value.done);
  const removed = documents.filter(({ value }) => value.removed);
  const clear = useMutation((client) =>
    removeAll(
      client,
      list,
      done.map(({ key }) => key),
    ),
  );
  return (
    <footer>
      <p>
        {here.length - done.length} to buy · {done.length} done · {added} added so far
        {done.length > 0 && (
          <button type="button" data-clear onClick={() => clear.mutate()}>
            Remove done
          </button>
        )}
      </p>
      {removed.length > 0 && (
        <details>
          <summary>Removed ({removed.length})</summary>
          <ul>
            {removed.map((item) => (
              <RemovedItem key={item.key} list={list} item={item} />
            ))}
          </ul>
        </details>
      )}
    </footer>
  );
}
