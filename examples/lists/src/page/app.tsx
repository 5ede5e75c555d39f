import { useLive, useMutation } from '@isochron/sdk/react';
import { type ReactNode, useState } from 'react';
import { createList, listsOf } from '../shopping.js';
import { LineForm } from './line-form.js';
import { ListView } from './list-view.js';
import { StatusBar } from './status-bar.js';

/** All lists of a member, and one of them open. */
export function App({ member }: { readonly member: string }): ReactNode {
  const lists = useLive((client) => listsOf(client, member));
  const [chosen, choose] = useState<string>();
  const open = chosen ?? lists?.documents[0]?.key;
  const create = useMutation(async (client, name: string) => {
    const { id, stored } = createList(client, name, member);
    choose(id);
    await stored;
  });
  return (
    <div className="app">
      <header>
        <h1>
          <span className="logo" aria-hidden="true">
            ✓
          </span>
          Shopping lists
        </h1>
        <StatusBar member={member} />
      </header>
      <nav aria-label="Lists">
        <ul>
          {lists?.documents.map(({ key, value, pending }) => (
            <li key={key}>
              <button
                type="button"
                data-list-link={key}
                className={pending ? 'pending' : ''}
                aria-current={key === open}
                onClick={() => choose(key)}
              >
                {value.name}
              </button>
            </li>
          ))}
        </ul>
        <LineForm label="New list" submit={create.mutate} />
      </nav>
      <main>
        {open === undefined ? <Empty loading={lists === undefined} /> : <ListView id={open} member={member} />}
      </main>
    </div>
  );
}

const Empty = ({ loading }: { readonly loading: boolean }): ReactNode => (
  <p className="waiting">{loading ? 'Loading …' : 'Make your first list, on the left.'}</p>
);
