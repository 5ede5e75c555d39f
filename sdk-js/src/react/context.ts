import { createContext, createElement, type ReactElement, type ReactNode, useContext } from 'react';
import type { IsochronClient } from '../index.js';

const Client = createContext<IsochronClient | undefined>(undefined);

export interface IsochronProviderProps {
  /** A connected client. The application closes it. */
  readonly client: IsochronClient;
  readonly children?: ReactNode;
}

/** Gives a client to the hooks of all components inside. */
export const IsochronProvider = ({ client, children }: IsochronProviderProps): ReactElement =>
  createElement(Client.Provider, { value: client }, children);

/** The client of the next provider above. Throws an Error without one. */
export function useIsochron(): IsochronClient {
  const client = useContext(Client);
  if (client === undefined) throw new Error('put the component inside of an <IsochronProvider client={…}>');
  return client;
}
