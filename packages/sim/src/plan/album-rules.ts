/** The access rules of runs with albums. */
import type { RuleSource } from '@isochron/sessions';
import { SIMULATION_START_MS } from '@isochron/simulated-world/wall-clock';
import type { AlbumsPlan, BoardsPlan } from './plan.js';

/** All sessions but those with albums may do everything. */
const EVERYTHING = "!(auth.id.startsWith('owner') || auth.id.startsWith('guest'))";

/** An owner makes the album of its name; the readers in it see its photos. */
export function albumRules(
  { keyspace, boards, notes }: Omit<AlbumsPlan, 'sessions'>,
  keyspaces: readonly string[],
): RuleSource[] {
  const owner = `get('${keyspace}/albums/' + album).owner`;
  const readers = `get('${keyspace}/albums/' + album).readers`;
  const photos = `${keyspace}/photos/{album}/{photo}`;
  return [
    ...keyspaces.map((name): RuleSource => {
      return {
        name: `all-of-${name}`,
        match: `${name}/{rest=**}`,
        allow: ['get', 'list', 'create', 'update', 'delete'],
        when: EVERYTHING,
      };
    }),
    {
      name: 'owner-edits-album',
      match: `${keyspace}/albums/{album}`,
      allow: ['get', 'create', 'update'],
      when: 'auth.id == album',
    },
    { name: 'owner-changes-photos', match: photos, allow: ['create', 'delete'], when: `auth.id == ${owner}` },
    { name: 'readers-see-photos', match: photos, allow: ['get', 'list'], when: `auth.id in ${readers}` },
    { name: 'owner-sees-photos', match: photos, allow: ['get', 'list'], when: `auth.id == ${owner}` },
    ...(boards === undefined ? [] : boardRules(keyspace, boards)),
    ...(notes === undefined ? [] : noteRules(keyspace)),
  ];
}

/** Notes are those of the principal that they name; a remark is seen by those who see its note. */
const noteRules = (keyspace: string): RuleSource[] => [
  {
    name: 'own-notes-begin',
    match: `${keyspace}/notes/{note}`,
    allow: ['create'],
    when: 'incoming.by == auth.id',
  },
  {
    name: 'own-notes-change',
    match: `${keyspace}/notes/{note}`,
    allow: ['update', 'delete'],
    when: 'document.by == auth.id',
  },
  {
    name: 'own-notes',
    match: `${keyspace}/notes/{note}`,
    allow: ['list'],
    when: 'document.by == auth.id',
    filter: true,
  },
  {
    name: 'remarks-of-own-notes',
    match: `${keyspace}/remarks/{note}`,
    allow: ['list'],
    when: `get('${keyspace}/notes/' + note).by == auth.id`,
    filter: true,
  },
];

/** Who founds a board owns it, and admits its writers. Bids are in time. */
const boardRules = (keyspace: string, { closesMs }: BoardsPlan): RuleSource[] => [
  {
    name: 'founder-owns-board',
    match: `${keyspace}/boards/{board}`,
    allow: ['create'],
    when: 'incoming.by == auth.id',
  },
  {
    name: 'owner-edits-board',
    match: `${keyspace}/boards/{board}`,
    allow: ['get', 'update'],
    when: 'document.by == auth.id',
  },
  {
    name: 'writers-enter',
    match: `${keyspace}/entries/{board}/{entry}`,
    allow: ['create'],
    when: `auth.id in getAfter('${keyspace}/boards/' + board).writers`,
  },
  {
    name: 'bids-in-time',
    match: `${keyspace}/bids/{bid}`,
    allow: ['create'],
    when: `at < ${SIMULATION_START_MS + closesMs}.0`,
  },
];
