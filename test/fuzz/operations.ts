/** One operation of each kind. */
export const ALL_OPERATIONS: readonly object[] = [
  { op: 'set', path: '/a/b', value: { c: [1, null, 'x'] } },
  { op: 'remove', path: '/a/b/c/0' },
  { op: 'mergePatch', path: '', patch: { d: { e: null }, f: 1 } },
  { op: 'increment', path: '/n', by: -1.5 },
  { op: 'max', path: '/n', value: 7 },
  { op: 'min', path: '/n', value: 3 },
  { op: 'arrayUnion', path: '/tags', items: ['x', { y: 1 }] },
  { op: 'arrayRemove', path: '/tags', items: ['x'] },
  { op: 'append', path: '/log', items: [1, 2] },
  { op: 'serverTimestamp', path: '/at' },
  { op: 'init', value: {} },
];
