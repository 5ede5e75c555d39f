/** The models that are searched, and schedules by hand, as scripts of `scheduleOf`. */
import type { Shape } from './state.js';

/** Three nodes; each partition is on two of them. */
export const THREE: Shape = {
  hosts: [
    [0, 1],
    [1, 2],
    [2, 0],
  ],
  sessions: 2,
  transactions: 4,
  faults: 6,
};

/** As well, a partition on a single node. */
export const SOLE_COPY: Shape = { ...THREE, hosts: [...THREE.hosts, [2]], transactions: 3 };

/** Five nodes: two may be suspended at once. */
export const FIVE: Shape = {
  hosts: [0, 1, 2, 3, 4].map((id) => [id, (id + 1) % 5]),
  sessions: 3,
  transactions: 3,
  faults: 6,
};

const EVERYWHERE = 'read 0 0,1,2 0,1,2';

/** A fair schedule each, from which a search goes on. */
export const FAIR: Readonly<Record<string, readonly string[]>> = {
  'a writer moves away from a node that is lost': [
    ...['move 1 2', 'write 1 1,2', '...', 'rounds', 'write 1 0,2', '...'],
    ...['suspend 0 2', '...', 'adopt', 'move 1 0', 'rounds', 'repeat 1', '...'],
    ...['write 1 0', '...', 'rounds', 'rounds', EVERYWHERE, '...'],
    ...['return 0 2', '...', 'rounds', 'adopt', 'rounds', 'rounds', 'beginReturn 2', '...'],
    ...['goOn 2', '...', 'goOn 2', '...', 'goOn 2', '...', 'rounds', 'rounds', 'read 1 0,1,2 0,1,2', '...'],
  ],
  'a node that is cut off writes on, and returns': [
    ...['move 1 2', 'write 1 2', '...', 'rounds', 'cut 2 0', 'cut 0 2', 'cut 2 1', 'cut 1 2'],
    ...[
      'write 1 1,2',
      '...',
      'write 0 0,1',
      '...',
      'suspend 0 2',
      '...',
      'adopt',
      'rounds',
      'write 0 0,2',
      '...',
      'rounds',
    ],
    ...['heal 2 0', 'heal 0 2', 'heal 2 1', 'heal 1 2', 'rounds', 'adopt', 'rounds', 'return 1 2', '...', 'adopt'],
    ...['rounds', 'rounds', 'beginReturn 2', '...', 'goOn 2', '...', 'goOn 2', '...', 'goOn 2', '...'],
    ...['rounds', 'rounds', EVERYWHERE, 'read 1 0,1,2 0,1,2', '...'],
  ],
  'two nodes are suspended one after the other, with transactions between them': [
    ...['write 0 0,2', '...', 'write 1 1,2', 'suspend 0 1', '...', 'adopt', 'rounds', 'repeat 0', 'repeat 1', '...'],
    ...['return 2 1', '...', 'rounds', 'adopt', 'rounds', 'rounds', 'suspend 1 0', '...', 'adopt', 'rounds'],
    ...['beginReturn 1', '...', 'goOn 1', '...', 'move 0 1', 'repeat 0', '...', 'goOn 1', '...'],
    ...['return 2 0', '...', 'rounds', 'adopt', 'rounds', 'rounds', 'beginReturn 0', '...', 'goOn 0', '...', 'goOn 0'],
    ...['...', 'rounds', 'rounds', EVERYWHERE, '...'],
  ],
  'a node returns with a chain of writes, and another one is lost before that is stable': [
    ...[
      'move 0 1',
      'write 0 0',
      '...',
      'write 0 2',
      '...',
      'write 0 1',
      '...',
      'suspend 0 1',
      '...',
      'adopt',
      'rounds',
    ],
    ...['return 0 1', '...', 'rounds', 'adopt', 'rounds', 'rounds', 'beginReturn 1', '...'],
    ...Array.from({ length: 8 }, () => ['goOn 1', '...']).flat(),
    ...['suspend 0 2', '...', 'adopt', 'rounds', 'rounds', 'read 1 0,1,2 0,1,0', '...'],
  ],
};

/** All actions of a small model, to be added to a schedule. */
export function actionsOf(shape: Shape, nodes: number): string[] {
  const ids = Array.from({ length: nodes }, (_, id) => id);
  const ofNode = ['round', 'crash', 'start', 'adopt', 'resolve', 'beginReturn', 'goOn', 'unseal'];
  const ofPair = ['cut', 'heal', 'suspend', 'return'];
  const others = (id: number) => ids.filter((other) => other !== id);
  const sessions = Array.from({ length: shape.sessions }, (_, number) => number);
  const all = shape.hosts.map((_, partition) => partition);
  const writes = all.flatMap((a) => [`${a}`, ...all.filter((b) => b > a).map((b) => `${a},${b}`)]);
  return [
    ...ids.flatMap((id) => ofNode.map((name) => `${name} ${id}`)),
    ...ids.flatMap((id) => ids.map((to) => `deliver ${id} ${to}`)),
    ...ids.flatMap((id) => others(id).flatMap((other) => ofPair.map((name) => `${name} ${id} ${other}`))),
    ...sessions.flatMap((number) => [
      ...ids.map((id) => `move ${number} ${id}`),
      `repeat ${number}`,
      `giveUp ${number}`,
      `read ${number} ${all.join()} ${shape.hosts.map(([first]) => first).join()}`,
      ...writes.map((partitions) => `write ${number} ${partitions}`),
    ]),
  ];
}
