import { PROTOCOLS } from '../protocols/index.js';
import { unfinishedOf } from './unfinished.js';

/** A round trip takes at most 1,000 ms between nodes, and at most 306 ms between a client and a node. */
const { commitTimeoutMs: _, ...drawn } = PROTOCOLS.get('paris')!.draw(1).environment;
const UNLIMITED = {
  ...drawn,
  delayMs: [[50]],
  jitter: 1,
  slowLinks: [{ a: 'p-1', b: 'q-1', factor: 2 }],
  clientMs: 1,
  requestTimeoutMs: 2_000,
  clocks: [{ skewMs: 0, driftPpm: 0 }],
};
const CLIENTS = [
  { name: 'ended', finished: true, doing: 'finished', awaitsOutcome: false },
  { name: 'asking', finished: false, doing: 'finished', awaitsOutcome: true },
  { name: 'waiting', finished: false, doing: 'committing', awaitsOutcome: true },
  { name: 'reading', finished: false, doing: 'get', awaitsOutcome: false },
];
const [ASKING, WAITING, READING] = ['asking (finished)', 'waiting (committing)', 'reading (get)'];

describe('clients whose work has not ended', () => {
  it.each([
    ['are counted where coordinators wait longer than a round trip', 1_100, undefined, [ASKING, WAITING, READING]],
    ['are counted while they wait for anything but the outcome of a write', 900, undefined, [READING]],
    ['are counted while they wait for a commit longer than they may', 900, 300, [WAITING, READING]],
  ])('clients that have not ended %s', (_are, readDeadlineMs, commitTimeoutMs, unfinished) => {
    const patience = commitTimeoutMs === undefined ? {} : { commitTimeoutMs };
    const plan = { environment: { ...UNLIMITED, ...patience }, settings: { readDeadlineMs } };
    expect(unfinishedOf(CLIENTS, plan)).toEqual(unfinished);
  });
});
