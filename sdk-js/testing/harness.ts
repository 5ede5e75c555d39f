/** Starts servers and clients for a test, and closes them after it. */
import { WebSocket } from 'ws';
import { type ClientStatus, type ConnectOptions, connect, type IsochronClient } from '../src/index.js';
import { type FakeOptions, FakeServer, type FakeStore } from './fake-server.js';

const toClose: { close(): Promise<unknown> }[] = [];

/** Call in `afterEach`. */
export async function closeAll(): Promise<void> {
  for (const part of toClose.splice(0).reverse()) await part.close();
}

export async function server(store?: FakeStore, options?: FakeOptions): Promise<FakeServer> {
  const started = await FakeServer.start(store, options);
  toClose.push(started);
  return started;
}

/** Options of `connect`; undefined ones are left out. */
export type TestOptions = { readonly [Name in keyof ConnectOptions]?: ConnectOptions[Name] | undefined };

/**
 * A client whose retries do not wait: its source of jitter returns zero. It has a socket of its own unless `WebSocket`
 * is left out.
 */
export async function client(servers: readonly FakeServer[], options: TestOptions = {}): Promise<IsochronClient> {
  const all: TestOptions = { WebSocket, random: () => 0, ...options };
  const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  const connected = await connect({ endpoints: servers.map(({ url }) => url), ...given });
  toClose.push({ close: () => connected.close({ flushMs: 0 }) });
  return connected;
}

/** The first status, now or later, that fulfils the condition. */
export function statusOf(app: IsochronClient, wanted: (status: ClientStatus) => boolean): Promise<ClientStatus> {
  if (wanted(app.status)) return Promise.resolve(app.status);
  return new Promise((resolve) => {
    const unsubscribe = app.on('status', (status) => {
      if (!wanted(status)) return;
      unsubscribe();
      resolve(status);
    });
  });
}

/** A promise with its handles. */
export function deferred(): { promise: Promise<undefined>; resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<undefined>((done) => {
    resolve = () => done(undefined);
  });
  return { promise, resolve };
}

/** The code that a promise rejects with; fails the test when it does not. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  const error: unknown = await promise.then(
    () => new Error('it did not reject'),
    (reason: unknown) => reason,
  );
  return (error as { code?: string }).code ?? String(error);
}

/** All that an iterable yields. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
