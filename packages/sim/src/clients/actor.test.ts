import type { Snapshot } from '@isochron/protocols';
import { VirtualTime } from '@isochron/simulated-world/virtual-time';
import { toAll } from '../checks/check.js';
import { type Co, waitFor } from '../engine/coroutine.js';
import type { SessionPlan } from '../plan/plan.js';
import { Actor } from './actor.js';
import { Histories } from './recorder.js';
import type { BeginOptions, ClientSession, ClientTransaction } from './session.js';

/** How long the test waits for a snapshot that stays open. */
const SLOW_MS = 100;

/** The node that takes commits. */
const NODE = 'p-1';

/**
 * Carries out a plan; transactions are given these snapshots, in the order in which they begin. Returns the snapshots
 * and the sent commits that were reported.
 */
function observationsOf(transactions: SessionPlan['transactions'], snapshots: readonly number[], findsNode = true) {
  const time = new VirtualTime();
  const pause = (ms: number): Co<void> => waitFor<void>((resume) => void time.after(ms, () => resume()));
  const left = [...snapshots];
  const begin = ({ mode }: BeginOptions): ClientTransaction => {
    const assigned: Snapshot = { ts: left.shift()! };
    let snapshot: Snapshot | undefined;
    return {
      id: `t${assigned.ts}`,
      get snapshot() {
        return snapshot;
      },
      *read(keys) {
        yield* pause(mode === 'snapshot' ? SLOW_MS : 1);
        snapshot = assigned;
        return keys.map((key) => ({ key, value: null }));
      },
      *list() {
        return yield* waitFor<never>(() => {});
      },
      write: () => {},
      commit: ({ sent }) => {
        sent(() => {}, NODE);
        return waitFor(() => {});
      },
      end: () => {},
    };
  };
  const session: ClientSession = {
    export: () => ({}),
    observe: () => {},
    cached: 0,
    begin,
    holder: '',
    status: () => waitFor(() => {}),
  };
  const observed: (readonly [before: number, snapshot: number])[] = [];
  const sentTo: string[] = [];
  const observer = toAll([
    {
      name: 'observed',
      snapshot: ({ floor }, { ts }) => observed.push([floor.ts, ts]),
      sent: (_txId, node) => {
        if (node !== undefined) sentTo.push(node);
      },
    },
  ]);
  const actor = new Actor(
    { name: 's', region: 'p', transactions },
    {
      time,
      region: 'p',
      settling: false,
      live: { watch: () => () => {}, shown: 0 },
      connection: () => pause(1),
      stable: () => waitFor<boolean>((resume) => resume(true)),
      pause,
      moveTo: () => {},
      finds: () => findsNode,
      loseAnswers: () => () => {},
      leave: () => {},
      die: () => {},
    },
    { histories: new Histories(), observer, commits: [], keys: [], newcomers: () => {}, note: () => {} },
    () => session,
  );
  actor.start();
  time.runUntil(10 * SLOW_MS, () => actor.finished);
  return { observed, sentTo };
}

describe('what a session has seen', () => {
  const read = { kind: 'read', thinkMs: 0, keys: ['default/a'] } as const;
  const watch = { kind: 'watch', thinkMs: 0, keys: ['default/a'], reads: 1, pauseMs: 0 } as const;
  const later = { ...read, thinkMs: 2 * SLOW_MS };

  it('a session has seen every snapshot that it was given, those of transactions that stay open beside it too', () => {
    const { observed } = observationsOf([read, watch, later], [10, 50, 20]);
    expect(observed).toEqual([
      [0, 10],
      [10, 50],
      [50, 20],
    ]);
  });

  it('an exported session takes along the snapshots that it has seen, but not those that it is given afterwards', () => {
    const { observed } = observationsOf(
      [read, watch, { kind: 'move', thinkMs: 0, region: 'p', anew: true }, later],
      [10, 50, 20],
    );
    expect(observed).toEqual([
      [0, 10],
      [10, 50],
      [10, 20],
    ]);
  });
});

describe('a commit of a client', () => {
  const commit = { loses: null, duplicate: null };
  const write = { kind: 'write', thinkMs: 0, writes: [{ key: 'default/a', deletes: false }], commit } as const;

  it('a commit is reported as sent where its connection stays, and not by a client that has just moved away', () => {
    expect(observationsOf([write], [10]).sentTo).toEqual([NODE]);
    expect(observationsOf([write], [10], false).sentTo).toEqual([]);
  });
});
