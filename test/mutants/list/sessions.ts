/** The guarantees of HTTP sessions (D13, tokens and caches of HTTP sessions). */
import type { Mutant, Profile } from '../mutant.js';
import { CALLERS, KEPT_SESSION } from './files.js';

/** Callers in every run, without faults. */
export const FORKED_TOKENS: Profile = {
  settings: { applyIntervalMs: 100, gossipIntervalMs: 100 },
  http: {},
  faults: { kinds: ['slowDisk'], count: 0, untilMs: 0 },
};
/** The same with nodes that keep very little. */
const SMALL: Profile = { ...FORKED_TOKENS, http: { maxSessionBytes: 300 } };

export const SESSION_MUTANTS: readonly Mutant[] = [
  {
    name: 'copy-complete-by-hwt',
    breaks: 'D13',
    does: "treats a copy of a session's cache as complete when its newest write is as new as the token's",
    patches: [
      {
        file: CALLERS,
        in: 'Callers.#keptHere',
        find: '#keptHere({ cache }: SessionClaims)',
        replace: '#keptHere({ cache, hwt }: SessionClaims)',
      },
      {
        file: CALLERS,
        in: 'Callers.#keptHere',
        find: 'const kept = own ?? this.machine.store.adopted(session, changes);',
        replace:
          'const copy = this.machine.store.adopted(session, changes - changes); const kept = own ?? (copy !== undefined && copy.hwt >= hwt ? copy : undefined);',
      },
    ],
    seeds: { from: 12, count: 20 },
    profile: FORKED_TOKENS,
  },
  {
    name: 'merge-not-counted',
    breaks: 'D13',
    does: 'issues tokens that do not name the writes that other nodes sent for the cache',
    patches: [
      {
        file: KEPT_SESSION,
        in: 'KeptSession.merge',
        find: '    this.#changed(entries.map(({ ct }) => ct));',
        replace: '    this.#changed(entries.map(({ ct }) => ct));\n    this.#changes--;',
      },
    ],
    seeds: { from: 1, count: 1 },
    profile: FORKED_TOKENS,
  },
  {
    name: 'merge-drops-own-writes',
    breaks: 'D13',
    does: 'replaces a copy by the writes that another node sends',
    patches: [
      {
        file: KEPT_SESSION,
        in: 'KeptSession.merge',
        find: 'this.#reopen([...this.entries(), ...entries], hwt',
        replace: 'this.#reopen([...this.entries().slice(0, 0), ...entries], hwt',
      },
    ],
    seeds: { from: 7, count: 20 },
    profile: FORKED_TOKENS,
  },
  {
    name: 'pruned-counts-as-sent',
    breaks: 'D13',
    does: 'sends a cache without the writes that its own snapshots show, and marks it complete',
    patches: [
      {
        file: KEPT_SESSION,
        in: 'KeptSession.completeElsewhere',
        find: 'return Math.max(this.#complete, this.#pruned);',
        replace: 'return Math.max(this.#complete, this.#pruned - this.#pruned);',
      },
    ],
    seeds: { from: 1, count: 1 },
    profile: FORKED_TOKENS,
  },
  {
    name: 'dropped-cache-without-gap',
    breaks: 'D13',
    does: 'drops a cache that is too large as if it had been empty',
    patches: [
      {
        file: KEPT_SESSION,
        in: 'KeptSession.#changed',
        find: '    this.#complete = this.hwt;',
        replace: '    this.#complete = Math.min(this.#complete, this.hwt);',
      },
    ],
    seeds: { from: 2, count: 10 },
    profile: SMALL,
  },
  {
    name: 'gap-not-awaited',
    breaks: 'D13',
    does: "reads although the session's own writes are neither kept by the node nor stable",
    patches: [
      {
        file: CALLERS,
        in: 'Callers.hasGap',
        find: 'return completeOf(caller) > this.node.ust();',
        replace: 'return completeOf(caller) > this.node.ust() + 2 ** 52;',
      },
    ],
    seeds: { from: 3, count: 50 },
    profile: SMALL,
  },
];
