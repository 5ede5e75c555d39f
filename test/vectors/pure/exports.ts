/** Sessions as data: which are accepted, their contents, and their export. */

import { parts } from '@isochron/client/link/frames';
import { operationFrames } from '@isochron/client/link/operation-frames';
import type { ImportedSession } from '@isochron/client/session/exported';
import { exportCommits, exportSession, exportWrites } from '@isochron/client/session/exported';
import { importSession } from '@isochron/client/session/imported';
import { CLIENT_KIT } from '@isochron/client/session/kit';
import { IsochronError } from '@isochron/core/errors';
import { MAX_TIMESTAMP } from '@isochron/core/hlc';
import type { WireSeen } from '@isochron/wire/session-frames';
import { notation } from '@isochron/wire/session-frames/notation';
import { dependsOut } from '../operations/outward.js';
import { stateOut } from '../outward.js';

const { wireSeen } = operationFrames(parts, notation);

const TX = 'AAAAAAAAAAAAAAAAAAAAAA.0';
const UPDATE = { operations: '[{"op":"increment","path":"/n","by":1}]' };
const WRITE = ['default/a', 7, TX, '{"a":1}'];
const BASE = { version: 1, token: 'token', ust: 5, hwt: 7, writes: [] };
const COMMIT = {
  attempts: [{ home: 'oregon', avoid: ['virginia'], map: 1 }],
  acknowledged: 7,
  ct: 8,
  map: 1,
  nodes: [0, 2],
  isDeferred: false,
  sent: { txId: TX, snapshot: 5, hwt: 6, sentAfter: 5, writes: [['default/a', '{"a":1}']] },
};
const { map: _map, nodes: _nodes, ...PLACELESS } = COMMIT;
const SEEN = { seen: [1, 2], region: 'oregon' };
const DEPENDENCY = { key: 'default/a', source: 1, ts: 9 };

const WHOLE: readonly object[] = [
  BASE,
  { ...BASE, protocol: 'paris' },
  { ...BASE, protocol: 'no-such-protocol' },
  { ...BASE, protocol: 'wren', deps: [3, 1, 7] },
  { ...BASE, protocol: 'cure', deps: [] },
  { ...BASE, ust: 0, hwt: 0, token: '' },
  { ...BASE, ust: MAX_TIMESTAMP, hwt: MAX_TIMESTAMP },
  { ...BASE, writes: [WRITE] },
  { ...BASE, writes: [WRITE, ['caf\u00e9', 8, TX, null], ['cafe\u0301', 8, TX, { bytes: 'AP8=' }], WRITE] },
  { ...BASE, writes: [['', 0, TX, '']] },
  { ...BASE, writes: [['default/a', 7, TX, 'no JSON at all']] },
  { ...BASE, writes: [['default/a', 7, TX, { bytes: ' AP8 ', more: 1 }, 'more']] },
  { ...BASE, commits: [] },
  { ...BASE, writes: [WRITE], commits: [COMMIT, { ...COMMIT, isDeferred: true, more: 1 }] },
  { ...BASE, commits: [PLACELESS, { ...COMMIT, attempts: [], nodes: [], isDeferred: 1 }] },
  {
    ...BASE,
    commits: [
      {
        ...COMMIT,
        sent: {
          ...COMMIT.sent,
          deps: [3],
          writes: [
            ['caf\u00e9', null],
            ['b', UPDATE],
          ],
        },
      },
    ],
  },
  { ...BASE, more: { of: 'a newer version' } },
  { ...BASE, protocol: 'okapi', seen: SEEN },
  { ...BASE, protocol: 'eventual', seen: { seen: [], region: '' } },
  { ...BASE, protocol: 'cc-lo', seen: { ...SEEN, depends: [] } },
  { ...BASE, protocol: 'cc-lo', seen: { ...SEEN, depends: [DEPENDENCY, { ...DEPENDENCY, near: true }] } },
  { ...BASE, protocol: 'cc-lo', seen: { ...SEEN, depends: [{ ...DEPENDENCY, near: 1, more: 1 }] } },
];

/** Without the parts that only protocols of single operations have: those are checked when such a session continues. */
const DAMAGED: readonly unknown[] = [
  null,
  1,
  'text',
  [],
  {},
  ...[0, 2, '1', null, undefined].map((version) => ({ ...BASE, version })),
  ...[undefined, null, 1].map((token) => ({ ...BASE, token })),
  ...[-1, 1.5, MAX_TIMESTAMP + 1, '5', null, undefined, true].map((ust) => ({ ...BASE, ust })),
  ...[-1, 0.5, 2 ** 60, null, undefined].map((hwt) => ({ ...BASE, hwt })),
  ...[null, undefined, {}, 'x'].map((writes) => ({ ...BASE, writes })),
  ...[null, {}, [null], [-1], [1.5], ['1'], 5].map((deps) => ({ ...BASE, deps })),
  ...[null, 1, {}].map((protocol) => ({ ...BASE, protocol })),
  ...[
    null,
    {},
    [],
    [1, 7, TX, 'x'],
    ['default/a', -1, TX, 'x'],
    ['default/a', '7', TX, 'x'],
    ['default/a', 7, 'short.0', 'x'],
    ['default/a', 7, null, 'x'],
    ['default/a', 7, TX],
    ['default/a', 7, TX, 5],
    ['default/a', 7, TX, true],
    ['default/a', 7, TX, []],
    ['default/a', 7, TX, {}],
    ['default/a', 7, TX, { bytes: 5 }],
    ['default/a', 7, TX, { bytes: '!' }],
  ].map((write) => ({ ...BASE, writes: [WRITE, write] })),
  ...[null, {}, [null]].map((commits) => ({ ...BASE, commits })),
  ...[
    { attempts: null },
    { attempts: [{ home: 'oregon', avoid: [] }] },
    { attempts: [{ home: 1, avoid: [], map: 0 }] },
    { acknowledged: -1 },
    { ct: '8' },
    { map: null },
    { nodes: [1.5] },
    { sent: {} },
    { sent: { ...COMMIT.sent, txId: 'short.0' } },
    { sent: { ...COMMIT.sent, writes: [['default/a']] } },
    { sent: { ...COMMIT.sent, writes: [['default/a', { operations: 'none' }]] } },
  ].map((change) => ({ ...BASE, commits: [COMMIT, { ...COMMIT, ...change }] })),
];

const NO_JSON = ['', '{', 'undefined', '{"version":1,}', "{'version':1}"];

/** Invalid `seen`, for protocols that need one. */
const DAMAGED_SEEN: readonly unknown[] = [
  null,
  1,
  {},
  { seen: [] },
  { region: 'oregon' },
  { seen: {}, region: 'oregon' },
  { seen: [1.5], region: 'oregon' },
  { seen: [-1], region: 'oregon' },
  { seen: [], region: 1 },
  ...[
    null,
    {},
    [null],
    [{}],
    [{ ...DEPENDENCY, key: 1 }],
    [{ ...DEPENDENCY, source: -1 }],
    [{ ...DEPENDENCY, ts: '9' }],
  ].map((depends) => ({ ...SEEN, depends })),
];

export function exportedSessions(): object {
  const texts = [
    ...[...WHOLE, ...DAMAGED].map((session) => JSON.stringify(session)),
    // A number is the same in every notation.
    '{"version":1.0,"token":"t","ust":5e0,"hwt":70e-1,"writes":[]}',
    ...NO_JSON,
  ];
  return {
    imports: texts.map((text) => ({ text, ...imported(text) })),
    seen: [...DAMAGED_SEEN, SEEN, { ...SEEN, depends: [DEPENDENCY] }].map((seen) => seenOf(JSON.stringify(seen))),
  };
}

/**
 * `session` when it is accepted, and `exported`, its export without further reads; else `refused`.
 */
function imported(text: string): object {
  try {
    const session = importSession(text, CLIENT_KIT);
    const { token, protocol, state, seen } = session;
    const more = seen === undefined ? {} : { seen };
    return { session: { token, protocol, state: stateOut(state), ...more }, exported: again(session) };
  } catch (error) {
    return { refused: codeOf(error) };
  }
}

function again({ token, protocol, state: { ust, deps, hwt, cache, own = [] }, seen }: ImportedSession): string {
  const entries = deps === undefined ? {} : { deps };
  const more = seen === undefined ? {} : { seen: remembered(seen) };
  const commits = own.length > 0 && { commits: exportCommits(own) };
  const state = { ...entries, ust, hwt, writes: exportWrites(cache), ...commits, ...more };
  return JSON.stringify(exportSession(state, token, protocol));
}

/** An export without dependencies has no `depends`. */
function remembered(raw: unknown): WireSeen {
  const { depends = [], ...seen } = wireSeen(raw);
  return depends.length === 0 ? seen : { ...seen, depends };
}

function seenOf(text: string): object {
  try {
    const { seen, region, depends } = wireSeen(JSON.parse(text));
    return { text, seen: { seen, region, ...dependsOut(depends) } };
  } catch (error) {
    return { text, refused: codeOf(error) };
  }
}

function codeOf(error: unknown): string {
  if (error instanceof IsochronError) return error.code;
  throw error;
}
