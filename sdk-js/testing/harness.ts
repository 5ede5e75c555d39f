/** Starts servers and clients for a test, and closes them after it. */
import { MemoryCluster, type MemoryClusterOptions } from '@isochron/testing/nodes/memory-cluster';
import { MemoryNode } from '@isochron/testing/nodes/memory-node';
import type { ClientFrame, RequestFrame } from '@isochron/wire/session-frames';
import { WebSocket } from 'ws';
import { type ClientStatus, type ConnectOptions, connect, type IsochronClient } from '../src/index.js';
import { MemoryServer, type ServerOptions } from './memory-server.js';

export type { MemoryCluster } from '@isochron/testing/nodes/memory-cluster';
export { type Reaction, refusal } from '@isochron/testing/nodes/memory-node';

const toClose: { close(): Promise<unknown> }[] = [];

/** Call in `afterEach`. */
export async function closeAll(): Promise<void> {
  for (const part of toClose.splice(0).reverse()) await part.close();
}

/**
 * A cluster of two regions, unless others are named, with a node for writes of others. Its stable time rises with
 * `stabilise` alone.
 */
export function clusterOf(options: MemoryClusterOptions = {}): MemoryCluster {
  const regions = ['virginia', 'oregon'];
  const cluster = new MemoryCluster({ regions, keyspaces: ['eu'], held: true, ...options });
  new MemoryNode('beside', cluster, cluster.regions[0]);
  return cluster;
}

/** A node that begins no commit of a session before the outcome of the previous commit. */
export const UNCHAINED: ServerOptions = { lacks: ['chained-commits'] };

/** A node under which a patch reads the document and writes it. */
export const PATCHES_READ: ServerOptions = { lacks: ['updates'] };

/** A server of a cluster; by default of the first region of a new cluster. */
export async function server(cluster = clusterOf(), options?: ServerOptions): Promise<MemoryServer> {
  const started = await MemoryServer.start(cluster, options);
  toClose.push(started);
  return started;
}

/** Options of `connect`; undefined ones are left out. */
export type TestOptions = { readonly [Name in keyof ConnectOptions]?: ConnectOptions[Name] | undefined };

/**
 * A client whose retries do not wait: its source of jitter returns zero. It has a socket of its own unless `WebSocket`
 * is left out.
 */
export async function client(servers: readonly MemoryServer[], options: TestOptions = {}): Promise<IsochronClient> {
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

/** The newest session token that a server has sent. */
export const tokenOf = ({ sent }: MemoryServer): string | undefined =>
  sent.map((frame) => ('token' in frame ? frame.token : undefined)).findLast((token) => token !== undefined);

/** Id of a request frame. */
export const idOf = (frame: ClientFrame): number => (frame as RequestFrame).id;
