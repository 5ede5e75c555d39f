'use client';

/** Isochron in React: live results, writes and the state of the connection as hooks. */
export { useConnection, usePending } from './react/connection.js';
export { IsochronProvider, type IsochronProviderProps, useIsochron } from './react/context.js';
export { useLive, useLiveCut, useLiveSuspense } from './react/live.js';
export { type Mutation, useMutation } from './react/mutation.js';
