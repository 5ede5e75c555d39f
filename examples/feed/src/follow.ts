/** Keeps a copy in step: fills it from a snapshot if it is empty or too old, and then follows the feed. */
import { connect, type IsochronClient, isIsochronError } from '@isochron/sdk';
import type { Copy, Position, Row } from './copy.js';

export interface FollowOptions {
  /** Nodes of any regions; the feed goes on at another one when a node is lost. */
  readonly endpoints: readonly string[];
  readonly signal: AbortSignal;
  /** Called after each step. */
  readonly onStep: (position: Position, transactions: number) => void;
}

/** Resolves when the signal fires. */
export async function follow(copy: Copy, { endpoints, signal, onStep }: FollowOptions): Promise<void> {
  const client = await connect({ endpoints: [...endpoints] });
  try {
    while (!signal.aborted) {
      if (copy.position === undefined) await fill(copy, client);
      const { timestamp, cursor } = copy.position!;
      await run(copy, client, cursor === undefined ? { at: timestamp } : { since: cursor }, signal, onStep);
    }
  } finally {
    await client.close();
  }
}

/** Ends when the position is too old for the feed: the copy has been filled anew then. */
async function run(
  copy: Copy,
  client: IsochronClient,
  from: { readonly at?: number; readonly since?: string },
  signal: AbortSignal,
  onStep: FollowOptions['onStep'],
): Promise<void> {
  try {
    for await (const message of client.changes({ ...from, signal })) {
      copy.apply(message);
      onStep(copy.position!, message.transactions.length);
    }
  } catch (error) {
    if (signal.aborted) return;
    if (!isIsochronError(error) || error.code !== 'CHANGES_GONE') throw error;
    await fill(copy, client);
  }
}

async function fill(copy: Copy, client: IsochronClient): Promise<void> {
  const snapshot = await client.snapshot();
  try {
    await copy.fill(snapshot.timestamp, documents());
  } finally {
    await snapshot.close();
  }

  async function* documents(): AsyncGenerator<Row> {
    for (const keyspace of copy.keyspaces)
      for await (const { key, value } of snapshot.keyspace(keyspace).list())
        yield { keyspace, key, document: value instanceof Uint8Array ? { base64: base64(value) } : value };
  }
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
