import { PROTOCOLS } from '../protocols/index.js';
import { unfinishedOf } from './unfinished.js';

/** A round trip takes at most 1,000 ms between nodes, and at most 306 ms between a client and a node. */
const environment = {
  ...PROTOCOLS.get('paris')!.draw(1).environment,
  delayMs: [[50]],
  jitter: 1,
  slowLinks: [{ a: 'p-1', b: 'q-1', factor: 2 }],
  clientMs: 1,
  requestTimeoutMs: 2_000,
  clocks: [{ skewMs: 0, driftPpm: 0 }],
};
const CLIENTS = [
  { name: 'ended', finished: true, doing: 'finished' },
  { name: 'asking', finished: false, doing: 'finished' },
  { name: 'writing', finished: false, doing: 'committing' },
];

describe('clients whose work has not ended', () => {
  it.each([
    ['also', 'longer', 1_100, ['asking (finished)', 'writing (committing)']],
    ['not', 'less', 900, ['writing (committing)']],
  ])(
    'clients that ask for the end of a commit are %s counted where coordinators wait %s than a round trip',
    (_counted, _than, readDeadlineMs, unfinished) => {
      expect(unfinishedOf(CLIENTS, { environment, settings: { readDeadlineMs } })).toEqual(unfinished);
    },
  );
});
