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
