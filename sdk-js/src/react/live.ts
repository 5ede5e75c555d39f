import { useSyncExternalStore } from 'react';
import type { CutResult, IsochronClient, Watch, Watches } from '../index.js';
import { useIsochron } from './context.js';
import { type StoreState, storeOf } from './store.js';

const NOTHING: StoreState<never> = {};
const nothing = (): StoreState<never> => NOTHING;
const subscribeToNothing = (): (() => void) => () => undefined;

/**
 * The live result of a watch: `useLive((client) => client.collection('todos').watch({ prefix }))`. Undefined before the
 * first result, in a server's render, and while the function returns undefined. All components show one snapshot, and
 * own writes at once.
 *
 * It needs no list of dependencies: a watch is known by its query, and components with equal queries share it.
 * Documents and lists of documents are the same objects until they change. An error of the watch is thrown, for an
 * error boundary. `changes` of a result are those from the result before, which a component may not have rendered.
 */
export function useLive<R>(watch: (client: IsochronClient) => Watch<R> | undefined): R | undefined {
  const asked = watch(useIsochron());
  const store = asked && storeOf(asked);
  const { result, error } = useSyncExternalStore<StoreState<R>>(
    store?.subscribe ?? subscribeToNothing,
    store?.state ?? nothing,
    nothing,
  );
  if (error !== undefined) throw error;
  return result;
}

/**
 * The live results of several watches, always of one snapshot and in one render:
 * `useLiveCut((client) => ({ list: lists.watch('7'), items: items.watch({ prefix: '7-' }) }))`.
 */
export const useLiveCut = <W extends Watches>(watches: (client: IsochronClient) => W): CutResult<W> | undefined =>
  useLive((client) => client.live(watches(client)));

/**
 * As {@link useLive}, for a component inside of a `<Suspense>`: it waits for the first result. In a server's render the
 * result is part of the page.
 */
export function useLiveSuspense<R>(watch: (client: IsochronClient) => Watch<R>): R {
  const store = storeOf(watch(useIsochron()));
  store.read();
  useSyncExternalStore(store.subscribe, store.state, store.state);
  return store.read();
}
