/** The documents of the app, and its writes. Each write is one transaction, and none of them loses another's edit. */
import {
  arrayUnion,
  type Collection,
  type IsochronClient,
  increment,
  type QueryResult,
  set,
  type Watch,
} from '@isochron/sdk';

/** `shopping/<id>`: a list that its members share. */
export interface List {
  readonly name: string;
  readonly members: readonly string[];
  /** How many items it has ever got: written in the transaction of each item. */
  readonly added: number;
}

/** `shopping/<list>/items/<id>` */
export interface Item {
  readonly text: string;
  readonly quantity: number;
  readonly done: boolean;
  /** It is in the basket of removed items. */
  readonly removed: boolean;
  /** The member who has added it, and when, in ms since 1970 by the clock of that device. */
  readonly by: string;
  readonly at: number;
}

const lists = (client: IsochronClient): Collection<List> => client.collection<List>('shopping');
const itemsName = (list: string): string => `shopping/${list}/items`;
const items = (client: IsochronClient, list: string): Collection<Item> => client.collection<Item>(itemsName(list));

/** Ids sort by their time. */
const newId = (): string => `${Date.now().toString(36)}-${crypto.getRandomValues(new Uint32Array(1))[0]!.toString(36)}`;

/** The lists of a member, by their names. */
export const listsOf = (client: IsochronClient, member: string): Watch<QueryResult<List>> =>
  lists(client).watch({
    where: [{ path: '/members', op: 'array-contains', value: member }],
    orderBy: [{ path: '/name' }],
  });

/** A list and its items, in the order in which they were added. */
export const listWithItems = (client: IsochronClient, list: string) => ({
  list: lists(client).watch(list),
  items: items(client, list).watch({ orderBy: [{ path: '/at' }] }),
});

/** Makes a list. Returns its id at once. */
export function createList(
  client: IsochronClient,
  name: string,
  member: string,
): { id: string; stored: Promise<unknown> } {
  const id = newId();
  return { id, stored: lists(client).set(id, { name, members: [member], added: 0 }) };
}

/** Adds an item and counts it, in one transaction: no one sees one without the other. */
export const addItem = (client: IsochronClient, list: string, text: string, by: string): Promise<unknown> =>
  client.transaction((tx) => {
    tx.collection<Item>(itemsName(list)).set(newId(), {
      text,
      quantity: 1,
      done: false,
      removed: false,
      by,
      at: Date.now(),
    });
    tx.collection<List>('shopping').update(list, [increment('/added')]);
  });

/** Two members who press + at the same time add two. */
export const addQuantity = (client: IsochronClient, list: string, item: string, by: number): Promise<unknown> =>
  items(client, list).update(item, [increment('/quantity', by)]);

/** Changes one field: another member's edit of another field stays. */
export const edit = (
  client: IsochronClient,
  list: string,
  item: string,
  change: Partial<Pick<Item, 'text' | 'done' | 'removed'>>,
): Promise<unknown> =>
  items(client, list).update(
    item,
    Object.entries(change).map(([name, value]) => set(`/${name}`, value)),
  );

/** Removes several items at once: every member sees all of them, or all of them removed. */
export const removeAll = (client: IsochronClient, list: string, ids: readonly string[]): Promise<unknown> =>
  client.transaction((tx) => {
    for (const id of ids) tx.collection<Item>(itemsName(list)).update(id, [set('/removed', true)]);
  });

/** Lets another member see the list. */
export const invite = (client: IsochronClient, list: string, member: string): Promise<unknown> =>
  lists(client).update(list, [arrayUnion('/members', member)]);
