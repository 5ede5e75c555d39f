import { gentleRain as protocol } from '@isochron/protocols';
import { UP_TO_A_TIMESTAMP } from '../../checks/visibility.js';
import { CAUSAL, operationAdapter } from './adapter.js';

/** Snapshots are one timestamp, which the region has everything up to; ROTs wait for it, PUTs for their clock. */
export const gentleRain = operationAdapter({
  protocol,
  clocks: 'physical',
  promises: CAUSAL,
  readsWait: 'for-snapshots',
  snapshots: {
    visibility: () => ({ ...UP_TO_A_TIMESTAMP, localDeps: true }),
    snapshot: ([st = 0]) => ({ ts: st }),
    closes: ([st = 0]) => st,
  },
  // `[dt, GSTc]`: a version lies above what was read and written, and its writer's stable time stays with it.
  seen: {
    inSnapshot: (seen, [st = 0]) => seen.every((ts) => ts <= st),
    inVersion: ([dt = 0, gst = 0], { ts, deps: [known = 0] = [] }) => dt < ts && gst <= known,
    hasVersion: ([dt = 0, gst = 0], { ts, region, deps: [known = 0] = [] }, here) =>
      ts <= dt && (region === here ? known <= gst : ts <= gst),
  },
});
