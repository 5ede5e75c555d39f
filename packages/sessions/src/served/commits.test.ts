import { type Timestamp, txIdOf } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import { TestNode, UST } from '@isochron/testing/sessions/served-node';

const TX = txIdOf('session-of-the-test-01', 1);
const WRITE = { key: 'default/a', value: '1' };
const at = (ms: number): Timestamp => UST + ms;
/** Snapshots of Wren: of the region of the node, and of another one. */
const here: Snapshot = { ts: at(12), deps: [at(10), 1, 0] };
const elsewhere: Snapshot = { ts: at(30), deps: [at(20), 2, 0] };

/** A session whose transaction begins here, and that sees another region. */
function roaming() {
  const node = new TestNode({}, new Set(['transactions']), 'wren');
  const { link, connection } = node.greeted();
  const started = () => {
    connection.receive({ type: 'start', id: 1, tx: TX });
    const ref = node.posted.at(-1)!.ref;
    node.answer({ type: 'StartTxResp', ref, snapshot: here.ts, deps: here.deps });
  };
  const moved = () => connection.receive({ type: 'ping', id: 2, token: node.tokens.mintPlain(elsewhere, 0, '') });
  const committed = (named?: Snapshot): Snapshot => {
    const order = { type: 'commit', id: 3, tx: TX, hwt: 0, sentAfter: UST, attemptRegions: ['p'], writes: [WRITE] };
    connection.receive(named === undefined ? order : { ...order, snapshot: named.ts, deps: named.deps });
    const ref = node.posted.at(-1)!.ref;
    node.answer({ type: 'CommitResp', ref, txId: TX, ct: at(40), deps: [at(10)] });
    const { token } = link.frames.at(-1) as { token: string };
    return node.tokens.decode(token, at(1_000), '').seen;
  };
  return { started, moved, committed };
}

it('a commit of an open transaction leaves its session in the region of the transaction', () => {
  const session = roaming();
  session.started();
  expect(session.committed()).toEqual({ ts: at(12), deps: [at(10), 1, at(40)] });
});

describe('a commit of a session that has seen another region since', () => {
  const everything = { ts: at(40), deps: [at(40), 0, at(40)] };

  it('a commit of an open transaction has the home of the snapshot that the transaction read from', () => {
    const session = roaming();
    session.started();
    session.moved();
    expect(session.committed()).toEqual(everything);
  });

  it('a commit that names its snapshot has the home of that', () => {
    const session = roaming();
    session.started();
    session.moved();
    expect(session.committed(here)).toEqual(everything);
  });

  it('a commit of a transaction that did not begin here belongs to no region', () => {
    const session = roaming();
    session.moved();
    expect(session.committed()).toEqual(everything);
  });
});

describe('the needs of unstable writes', () => {
  const home = 'p';

  /** A session of PaRiS, and the needs that its commits name. */
  function writer(token?: { readonly hwt: Timestamp }) {
    const node = new TestNode({}, new Set(['transactions', 'stable-snapshots']));
    const { connection } = node.connect();
    connection.receive({ type: 'hello', token: token && node.tokens.mintPlain({ ts: UST }, token.hwt, '') });
    let n = 0;
    const commit = (ct: Timestamp, nodes?: readonly number[], hwt = 0): unknown => {
      const tx = txIdOf('session-of-the-test-01', ++n);
      const order = { id: n, tx, hwt, sentAfter: UST, attemptRegions: [home], snapshot: UST, writes: [WRITE] };
      connection.receive({ type: 'commit', ...order });
      const request = node.posted.at(-1)!;
      node.answer({ type: 'CommitResp', ref: request.ref, txId: tx, ct, nodes });
      return 'behind' in request ? request.behind : undefined;
    };
    const learn = (hwt: Timestamp) =>
      connection.receive({ type: 'ping', id: ++n, token: node.tokens.mintPlain({ ts: UST }, hwt, '') });
    return { node, commit, learn };
  }

  it('a commit names the latest unstable write of its session on each node (M4)', () => {
    const { commit } = writer();
    expect(commit(at(1), [0, 2])).toBeUndefined();
    expect(commit(at(2), [1])).toEqual([
      { node: 0, ct: at(1) },
      { node: 2, ct: at(1) },
    ]);
    expect(commit(at(3), [2])).toEqual([
      { node: 0, ct: at(1) },
      { node: 2, ct: at(1) },
      { node: 1, ct: at(2) },
    ]);
    expect(commit(at(4), [2])).toEqual([
      { node: 0, ct: at(1) },
      { node: 1, ct: at(2) },
      { node: 2, ct: at(3) },
    ]);
  });

  it('a write whose nodes are not known may need any node (M4)', () => {
    const { commit } = writer();
    commit(at(1));
    commit(at(2), [1]);
    expect(commit(at(3), [1])).toEqual([{ ct: at(1) }, { node: 1, ct: at(2) }]);
  });

  it('a session that goes on from a token, or claims a later write, may need any node for that (M4)', () => {
    const { commit } = writer({ hwt: at(5) });
    expect(commit(at(6), [0])).toEqual([{ ct: at(5) }]);
    expect(commit(at(8), [1], at(7))).toEqual([{ ct: at(5) }, { node: 0, ct: at(6) }, { ct: at(7) }]);
    expect(commit(at(9), [1])).toEqual([{ ct: at(5) }, { node: 0, ct: at(6) }, { ct: at(7) }, { node: 1, ct: at(8) }]);
  });

  it('a write that is stable by now is needed no more (M4)', () => {
    const { node, commit } = writer();
    commit(at(1));
    commit(at(2), [0]);
    node.ust = at(1);
    commit(at(3), [1]);
    expect(commit(at(4), [1])).toEqual([
      { node: 0, ct: at(2) },
      { node: 1, ct: at(3) },
    ]);
  });

  it('a session that takes a token of another copy may need any node for the last write of that (M4)', () => {
    const { commit, learn } = writer();
    commit(at(1), [0]);
    learn(at(2));
    commit(at(3), [1]);
    expect(commit(at(4), [1])).toEqual([{ node: 0, ct: at(1) }, { ct: at(2) }, { node: 1, ct: at(3) }]);
  });
});
