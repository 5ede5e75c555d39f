import { useCallback, useEffect, useRef, useSyncExternalStore } from 'react';
import type { CutResult, IsochronClient, Watch, Watches } from '../index.js';
import { useIsochron } from './context.js';
import { type LiveStore, type StoreState, storeOf } from './store.js';

const NOTHING: StoreState<never> = {};
const nothing = (): StoreState<never> => NOTHING;

/**
 * The live result of a watch: `useLive((client) => client.collection('todos').watch({ prefix }))`. Undefined before the
 * first result, in a server's render, and while the function returns undefined. All components show one snapshot, and
 * own writes at once.
 *
 * It needs no list of dependencies: a watch is known by its query, and components with equal queries share it. After a
 * change of the filter, the order, the limit, the bounds or the keys the component shows the former result, which stays
 * live, until the first result of the new query; after a change of the collection, the prefix or the document it does
 * not. Documents and lists of documents are the same objects until they change. An error of the watch is thrown, for an
 * error boundary; a component that is mounted after that reads anew. `changes` of a result are those from the result
 * before, which a component may not have rendered. Components begin and end the reading: a `signal` has no effect here.
 */
export function useLive<R>(watch: (client: IsochronClient) => Watch<R> | undefined): R | undefined {
  const queried = watch(useIsochron());
  const store = queried && storeOf(queried);
  const former = useFormer(store);
  const subscribe = useCallback(
    (changed: () => void) => {
      const ends = [store?.subscribe(changed), former?.subscribe(changed)];
      return () => {
        for (const end of ends) end?.();
      };
    },
    [store, former],
  );
  const state = (): StoreState<R> => {
    const own = store?.state() ?? NOTHING;
    return hasArrived(own) ? own : (shownBy(former) ?? own);
  };
  const { result, error } = useSyncExternalStore<StoreState<R>>(subscribe, state, nothing);
  if (error !== undefined) throw error;
  return result;
}

const hasArrived = ({ result, error }: StoreState<unknown>): boolean => result !== undefined || error !== undefined;

/** The state of a store that has a result. */
function shownBy<R>(store: LiveStore<R> | undefined): StoreState<R> | undefined {
  const state = store?.state();
  return state?.result === undefined ? undefined : state;
}

/** The store whose result the component has shown before, while this one of the same documents has none yet. */
function useFormer<R>(store: LiveStore<R> | undefined): LiveStore<R> | undefined {
  const shown = useRef<LiveStore<R>>(undefined);
  useEffect(() => {
    if (store === undefined || shownBy(store) !== undefined) shown.current = store;
  });
  const former = shown.current;
  if (store === undefined || former === undefined || hasArrived(store.state())) return undefined;
  return former !== store && former.isLike(store) ? former : undefined;
}

/**
 * The live results of several watches, always of one snapshot and in one render:
 * `useLiveCut((client) => ({ list: lists.watch('7'), items: items.watch({ prefix: '7-' }) }))`.
 */
export const useLiveCut = <W extends Watches>(watches: (client: IsochronClient) => W): CutResult<W> | undefined =>
  useLive((client) => client.live(watches(client)));

/**
 * As {@link useLive}, for a component inside of a `<Suspense>`: it waits for the first result of each query; change the
 * query in a transition to show the former result meanwhile. In a server's render the result is part of the page.
 */
export function useLiveSuspense<R>(watch: (client: IsochronClient) => Watch<R>): R {
  const store = storeOf(watch(useIsochron()));
  store.read();
  useSyncExternalStore(store.subscribe, store.state, store.state);
  return store.read();
}
