import { useCallback, useSyncExternalStore } from 'react';
import type { ClientStatus } from '../index.js';
import { useIsochron } from './context.js';

/** A value of the client's status: the component renders again when it changes. */
function useStatus<T>(select: (status: ClientStatus) => T): T {
  const client = useIsochron();
  const subscribe = useCallback((changed: () => void) => client.on('status', changed), [client]);
  const value = (): T => select(client.status);
  return useSyncExternalStore(subscribe, value, value);
}

const whole = (status: ClientStatus): ClientStatus => status;
const pending = ({ pendingCommits }: ClientStatus): number => pendingCommits;

/**
 * The state of the client: whether it is online, its region and node, how stale its reads are. One object until
 * anything but its ages changes.
 */
export const useConnection = (): ClientStatus => useStatus(whole);

/** How many commits of this client are not confirmed yet: those that wait, and those that are under way. */
export const usePending = (): number => useStatus(pending);
