/** The access rules of runs with albums. */
import type { RuleSource } from '@isochron/sessions';
import type { AlbumsPlan } from './plan.js';

/** All sessions but those with albums may do everything. */
const EVERYTHING = "!(auth.id.startsWith('owner') || auth.id.startsWith('guest'))";

/** An owner makes the album of its name; the readers in it see its photos. */
export function albumRules({ keyspace }: Pick<AlbumsPlan, 'keyspace'>, keyspaces: readonly string[]): RuleSource[] {
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
  ];
}
