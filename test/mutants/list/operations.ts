/** The rules that are specific to protocols of single operations: dependencies, stamps of PUTs, visibility. */
import type { Mutant } from '../mutant.js';

const CONTRARIAN = 'packages/protocols/src/contrarian/contrarian.ts';
const OKAPI = 'packages/protocols/src/okapi/okapi.ts';
const GENTLERAIN = 'packages/protocols/src/gentlerain/gentlerain.ts';
const REPLICA = 'packages/protocols/src/kernel/operations/replica.ts';
const PUTS = 'packages/protocols/src/kernel/operations/puts.ts';

const CONTRARIAN_MUTANTS: readonly Mutant[] = [
  {
    name: 'contrarian-clock-stays',
    protocol: 'contrarian',
    breaks: 'CN11, Alg. 2 line 21',
    does: 'does not move its clock past the snapshot of a read-only transaction',
    patches: [
      {
        file: CONTRARIAN,
        in: 'ContrarianRules.closes',
        find: 'return snapshot[this.#m]!;',
        replace: 'return snapshot[this.#m]! * 0;',
      },
    ],
    seeds: { from: 8, count: 60 },
  },
  {
    name: 'contrarian-forgets-dependencies',
    protocol: 'contrarian',
    breaks: 'CN1, Alg. 2 line 6',
    does: "omits the entries of other regions from a version's dependencies",
    patches: [
      {
        file: CONTRARIAN,
        in: 'ContrarianRules.stamp',
        find: 'const deps = withEntry(seen, this.#m, ts);',
        replace: 'const deps = withEntry(seen.map(() => 0), this.#m, ts);',
      },
    ],
    seeds: { from: 1, count: 60 },
  },
  {
    name: 'contrarian-shows-by-one-entry',
    protocol: 'contrarian',
    breaks: 'Alg. 2 lines 24–27',
    does: 'shows a version when one entry of its vector is covered',
    patches: [
      {
        file: CONTRARIAN,
        in: 'ContrarianRules.read',
        find: 'deps !== undefined && covered(deps, snapshot)',
        replace: 'deps !== undefined && deps.some((ts, i) => ts <= snapshot[i]!)',
      },
    ],
    seeds: { from: 1, count: 60 },
  },
  {
    name: 'contrarian-gss-of-one-partition',
    protocol: 'contrarian',
    breaks: 'CN5, Alg. 2 lines 35–38',
    does: "treats the versions of a node's first partition as stable",
    patches: [
      {
        file: 'packages/protocols/src/kernel/operations/entries.ts',
        in: 'installed',
        find: 'entrywiseMin(replicas.map(',
        replace: 'entrywiseMin(replicas.slice(0, 1).map(',
      },
    ],
    seeds: { from: 1, count: 60 },
  },
  {
    name: 'contrarian-client-forgets-its-put',
    protocol: 'contrarian',
    breaks: 'Alg. 1 line 4',
    does: 'does not return the timestamp of a PUT',
    patches: [
      {
        file: CONTRARIAN,
        in: 'ContrarianRules.wrote',
        find: 'return withEntry(seen, this.state.topology.regions.indexOf(region), ts);',
        replace: 'return withEntry(seen, this.state.topology.regions.indexOf(region), 0 * ts);',
      },
    ],
    seeds: { from: 16, count: 60 },
  },
];

const OKAPI_MUTANTS: readonly Mutant[] = [
  {
    name: 'okapi-remote-at-once',
    protocol: 'okapi',
    breaks: 'Alg. 2 lines 1–6',
    does: 'shows a version of another region as soon as it arrives',
    patches: [
      {
        file: OKAPI,
        in: 'OkapiRules.#stable',
        find: 'return ts <= (usv[this.#regions.indexOf(region)] ?? 0);',
        replace: 'return ts <= (usv[this.#regions.indexOf(region)] ?? 0) || true;',
      },
    ],
    seeds: { from: 1, count: 60 },
  },
  {
    name: 'okapi-snapshot-below-client',
    protocol: 'okapi',
    breaks: 'Alg. 2 line 18',
    does: 'chooses snapshots below the stable vector that the client has received',
    patches: [
      {
        file: OKAPI,
        in: 'OkapiRules.choose',
        find: 'return [lts, ...entrywiseMax(stableEntries(this.state), usvC)];',
        replace: 'void usvC;\n    return [lts, ...stableEntries(this.state)];',
      },
    ],
    seeds: { from: 22, count: 60 },
  },
  {
    name: 'okapi-clock-stays',
    protocol: 'okapi',
    breaks: 'Alg. 2 line 30',
    does: 'does not move its clock past the snapshot of a read-only transaction',
    patches: [
      {
        file: OKAPI,
        in: 'OkapiRules.closes',
        find: 'return lts;',
        replace: 'return 0 * lts;',
      },
    ],
    seeds: { from: 8, count: 60 },
  },
  {
    name: 'okapi-forgets-dependencies',
    protocol: 'okapi',
    breaks: 'Alg. 1 line 9, Alg. 2 lines 9–10',
    does: "omits the entries of other regions from a version's dependencies",
    patches: [
      {
        file: OKAPI,
        in: 'OkapiRules.stamp',
        find: 'return { deps: withEntry(usvC, this.#m, ts) };',
        replace: 'return { deps: withEntry(usvC.map(() => 0), this.#m, ts) };',
      },
    ],
    seeds: { from: 1, count: 60 },
  },
  {
    name: 'okapi-get-forgets-what-it-read',
    protocol: 'okapi',
    breaks: 'O11, Alg. 1 lines 4–5',
    does: "does not add a local version that was read to the client's dependencies",
    patches: [
      {
        file: OKAPI,
        in: 'OkapiRules.#saw',
        find: 'return [Math.max(dt, version.ts), ...entrywiseMax(usv, remote)];',
        replace: 'return [dt, ...entrywiseMax(usv, remote)];',
      },
    ],
    seeds: { from: 1, count: 60 },
  },
];

const GENTLERAIN_MUTANTS: readonly Mutant[] = [
  {
    name: 'gentlerain-rot-does-not-wait',
    protocol: 'gentlerain',
    breaks: 'read-only transactions',
    does: 'reads at GST although the client has newer dependencies',
    patches: [
      {
        file: GENTLERAIN,
        in: 'GentleRainRules.choose',
        find: "return dt > gst ? 'later' : [gst];",
        replace: 'void dt;\n    return [gst];',
      },
    ],
    seeds: { from: 2, count: 60 },
  },
  {
    name: 'gentlerain-put-does-not-wait',
    protocol: 'gentlerain',
    breaks: 'PUT',
    does: "writes before the clock has passed the client's dependencies",
    patches: [
      {
        file: GENTLERAIN,
        in: 'GentleRainRules.floor',
        find: 'return dt;',
        replace: 'return 0 * dt;',
      },
    ],
    seeds: { from: 7, count: 60 },
  },
  {
    name: 'gentlerain-remote-at-once',
    protocol: 'gentlerain',
    breaks: 'GET',
    does: 'shows a version of another region before GST has reached it',
    patches: [
      {
        file: GENTLERAIN,
        in: 'GentleRainRules.get',
        find: 'region === this.state.region || ts <= gst',
        replace: 'region === this.state.region || ts <= gst || true',
      },
    ],
    seeds: { from: 1, count: 60 },
  },
  {
    name: 'gentlerain-get-forgets-its-writer',
    protocol: 'gentlerain',
    breaks: 'GET',
    does: "does not return the stable time of a local version's writer",
    patches: [
      {
        file: GENTLERAIN,
        in: 'GentleRainRules.get',
        find: 'Math.max(gst, version.deps?.[0] ?? 0)',
        replace: 'Math.max(gst, (version.deps?.[0] ?? 0) * 0)',
      },
    ],
    seeds: { from: 1, count: 60 },
  },
  {
    name: 'gentlerain-get-forgets-what-it-read',
    protocol: 'gentlerain',
    breaks: 'GET',
    does: "does not add reads to the client's dependencies",
    patches: [
      {
        file: GENTLERAIN,
        in: 'GentleRainRules.get',
        find: 'seen: [Math.max(dt, version.ts), Math',
        replace: 'seen: [dt, Math',
      },
    ],
    seeds: { from: 1, count: 60 },
  },
  {
    name: 'gentlerain-client-forgets-its-put',
    protocol: 'gentlerain',
    breaks: 'PUT',
    does: 'does not return the timestamp of a PUT',
    patches: [
      { file: GENTLERAIN, in: 'GentleRainRules.wrote', find: 'return [ts, gstC];', replace: 'return [0 * ts, gstC];' },
    ],
    seeds: { from: 2, count: 60 },
  },
  {
    name: 'gentlerain-forgets-stable-time',
    protocol: 'gentlerain',
    breaks: 'PUT',
    does: "does not store the stable time of a version's writer",
    patches: [
      {
        file: GENTLERAIN,
        in: 'GentleRainRules.stamp',
        find: 'return { deps: [gstC] };',
        replace: 'return { deps: [0 * gstC] };',
      },
    ],
    seeds: { from: 1, count: 60 },
  },
];

/** The rules that all of them share. */
const KERNEL_MUTANTS: readonly Mutant[] = [
  {
    name: 'operations-show-what-is-not-on-disk',
    protocol: 'contrarian',
    breaks: 'D1',
    does: 'answers reads with versions that are not yet on disk',
    patches: [
      {
        file: REPLICA,
        in: 'OperationReplica.#onGet',
        find: 'if (this.#settled(key, version)) out.send(from, answer);',
        replace: 'if (this.#settled(key, version) || from.node !== "") out.send(from, answer);',
      },
    ],
    seeds: { from: 4, count: 60 },
  },
  {
    name: 'operations-acknowledge-before-disk',
    protocol: 'okapi',
    breaks: 'D1',
    does: 'answers a PUT before it is on disk',
    patches: [
      {
        file: PUTS,
        in: 'Puts.#write',
        find: "out.sendAfterPersist(from, { type: 'PutSliceResp', ref, ts });",
        replace: "out.send(from, { type: 'PutSliceResp', ref, ts });",
      },
    ],
    seeds: { from: 1, count: 60 },
  },
  {
    name: 'operations-do-it-again',
    protocol: 'gentlerain',
    breaks: 'D4',
    does: 'repeats the write of a PUT that is sent again',
    patches: [
      {
        file: PUTS,
        in: 'Puts.put',
        find: "if (known?.status === 'committed') {",
        replace: "if (known?.status === 'committed' && from.node === '') {",
      },
    ],
    seeds: { from: 1, count: 60 },
  },
];

export const OPERATION_MUTANTS: readonly Mutant[] = [
  ...CONTRARIAN_MUTANTS,
  ...OKAPI_MUTANTS,
  ...GENTLERAIN_MUTANTS,
  ...KERNEL_MUTANTS,
];
