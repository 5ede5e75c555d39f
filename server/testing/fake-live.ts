/** Live readers of a fake node: the scopes of each, and its request that waits. */
import type { Timestamp } from '@isochron/core';
import type { ChangedTx, LiveReq, LiveResp, Watch } from '@isochron/protocols';
import { NetContents } from '@isochron/protocols/kernel/feeds/collected';
import { ScopeUnion } from '@isochron/protocols/kernel/feeds/scope';
import type { Unreferenced } from '@isochron/sessions';

/** How often it looks for changes, ms. */
const POLL_MS = 5;

/** The data of the node. */
export interface FakeHistory {
  readonly cluster: { changes(prefix: string, after: Timestamp): readonly ChangedTx[] };
  ust(): Timestamp;
}

interface FakeReader {
  readonly watches: Map<number, Watch>;
  /** Answers the request that waits. */
  answer: (() => void) | undefined;
}

export class FakeLive {
  readonly readers = new Map<number, FakeReader>();

  constructor(readonly node: FakeHistory) {}

  ask(request: Unreferenced<LiveReq>, done: (answer: LiveResp) => void): void {
    const reader = this.readers.get(request.reader) ?? { watches: new Map<number, Watch>(), answer: undefined };
    this.readers.set(request.reader, reader);
    reader.answer?.();
    for (const number of request.remove) reader.watches.delete(number);
    for (const watch of request.add) reader.watches.set(watch.watch, watch);
    const until = performance.now() + request.waitMs;
    const answer = () => {
      clearInterval(timer);
      reader.answer = undefined;
      done(this.#changes(request.after, reader));
    };
    const look = () => {
      if (performance.now() >= until || this.#changes(request.after, reader).changes.length > 0) answer();
    };
    const timer = setInterval(look, POLL_MS);
    timer.unref();
    reader.answer = answer;
    look();
  }

  end(reader: number): void {
    this.readers.get(reader)?.answer?.();
    this.readers.delete(reader);
  }

  #changes(after: Timestamp, { watches }: FakeReader): LiveResp {
    const scope = new ScopeUnion(watches.values());
    const net = new NetContents();
    for (const tx of this.node.cluster.changes('', after)) {
      const writes = tx.writes.filter(({ key }) => scope.has(key));
      if (writes.length > 0) net.add({ ...tx, writes });
    }
    return { type: 'LiveResp', ref: 0, to: Math.max(after, this.node.ust()), changes: net.changes };
  }
}
