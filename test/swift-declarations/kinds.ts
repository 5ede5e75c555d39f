/** Kinds of the frames' notation in Swift: their types, and the expressions that read and write them. */
import type { Fields, Kind } from '@isochron/wire/session-frames/notation';

/** A Swift type of an object or a tuple. */
export interface SwiftType {
  readonly name: string;
  /** Members for the first fields or parts, where their names differ; a part without a label is checked only. */
  readonly labels?: readonly (string | undefined)[];
  /** Declared in the generated files: `public`, or `internal`. Otherwise the type is written by hand. */
  readonly declared?: 'public' | 'internal';
  /** Sizes in memory. */
  readonly hasSizes?: true;
}

/** The types by the names of the fields, or the kinds of the parts. */
const TYPES: Readonly<Record<string, SwiftType>> = {
  'region,node,partition': { name: 'HeldBack', declared: 'public' },
  'map,horizon,nodes': { name: 'SessionCut' },
  'ct,node': { name: 'CommitNeed' },
  'now,stalenessMs,stale,heldBackBy': { name: 'Freshness', declared: 'internal' },
  'nodes,regions': { name: 'Unresponsive', declared: 'internal' },
  'id,endpoints': { name: 'RegionEndpoints', declared: 'internal' },
  'tx,ts,writes': { name: 'FeedTransaction', declared: 'internal' },
  'watch,keys,start,end,level': { name: 'WatchedScope', declared: 'internal' },
  'maxKeyBytes,maxValueBytes,maxKeysPerRequest,maxRequestBytes': { name: 'Limits', hasSizes: true },
  'key,source,ts,near': { name: 'Dependency' },
  'key,value': { name: 'KeyWrite', labels: ['key', 'content'] },
  // The client does not ask for documents beside updates.
  'key,value,after,afterGone,before,beforeGone': { name: 'KeyWrite', labels: ['key', 'content'] },
  'seen,region,depends': { name: 'ExportedSeen' },
  '[timestamp,value]': { name: 'ServedVersion', labels: ['ts', 'value'] },
  '[text,timestamp,value]': { name: 'ListedEntry', labels: ['key', undefined, 'value'] },
  '[timestamp,text]': { name: 'Origin', labels: ['ts', 'txId'] },
  '[text,list]': { name: 'KeyChanges', labels: ['key', 'changes'] },
  '[timestamp,text,content]': { name: 'CachedWrite', labels: ['ct', 'txId', 'content'] },
  '[count,text,text]': { name: 'EndedScope', labels: ['watch', 'code', 'detail'] },
};

const LEAVES = {
  text: 'String',
  txId: 'TxId',
  count: 'Int64',
  whole: 'Int64',
  timestamp: 'Timestamp',
  flag: 'Bool',
  mark: 'Bool',
  value: 'Value',
  content: 'Content',
  later: 'Raw',
  // The only choice.
  oneOf: 'TransactionStatus.State',
} as const;

/** Lists whose absence is nil in Swift, even beside an empty list; other optional lists are then empty. */
const NIL_IF_ABSENT: ReadonlySet<string> = new Set(['nodes']);
/** Lists that are nil in Swift where they are absent or empty. */
const NIL_IF_EMPTY: ReadonlySet<string> = new Set(['depends']);

/** The objects and tuples among a kind and its parts, the parts first. */
export function compounds(kind: Kind): Kind[] {
  switch (kind.is) {
    case 'object':
      return [...Object.values(kind.of).flatMap(compounds), kind];
    case 'tuple':
      return [...kind.of.flatMap(compounds), kind];
    case 'optional':
    case 'nullable':
    case 'list':
      return compounds(kind.of);
    default:
      return [];
  }
}

/** The Swift type of an object or a tuple. Throws RangeError where the table above has none. */
export function swiftTypeOf(kind: Kind): SwiftType {
  const key =
    kind.is === 'object'
      ? Object.keys(kind.of).join(',')
      : kind.is === 'tuple'
        ? `[${kind.of.map((part) => part.is).join(',')}]`
        : kind.is;
  const found = TYPES[key];
  if (found === undefined) throw new RangeError(`give ${key} a Swift type in kinds.ts`);
  return found;
}

/** A field of a struct or of an enum's case. */
export interface SwiftField {
  /** In JSON. */
  readonly name: string;
  /** In Swift. */
  readonly label: string;
  readonly kind: Kind;
  /** A timestamp with the field `deps` behind it. */
  readonly isSnapshot: boolean;
}

/** The fields of an object. `deps` belongs to the snapshot of the field before. */
export function fieldsOf(
  of: Fields,
  labels: SwiftType['labels'] = [],
  renamed: Record<string, string> = {},
): SwiftField[] {
  const all = Object.entries(of);
  return all.flatMap(([name, kind], i) => {
    if (name === 'deps' || (labels.length > 0 && labels[i] === undefined)) return [];
    return [{ name, label: labels[i] ?? renamed[name] ?? name, kind, isSnapshot: all[i + 1]?.[0] === 'deps' }];
  });
}

/** Without `optional` and `nullable`. */
const bare = (kind: Kind): Kind => (kind.is === 'optional' || kind.is === 'nullable' ? bare(kind.of) : kind);

/** Whether a field is true or absent. */
export const isMark = ({ kind }: SwiftField): boolean => bare(kind).is === 'mark';

const isNilList = (name: string): boolean => NIL_IF_ABSENT.has(name) || NIL_IF_EMPTY.has(name);

/** Whether a field is nil where it is absent or null. */
function isOptional({ kind, name }: SwiftField): boolean {
  const { is } = bare(kind);
  return kind.is === 'nullable' || (kind.is === 'optional' && is !== 'mark' && (is !== 'list' || isNilList(name)));
}

/** Whether a field has no default in Swift. */
export const isRequired = (field: SwiftField): boolean =>
  field.kind.is === 'nullable' || (!isOptional(field) && !isMark(field));

/** The Swift type of a field. */
export const fieldType = (field: SwiftField): string =>
  `${field.isSnapshot ? 'Snapshot' : typeOf(bare(field.kind))}${isOptional(field) ? '?' : ''}`;

function typeOf(kind: Kind): string {
  switch (kind.is) {
    case 'list':
      return `[${typeOf(kind.of)}]`;
    case 'nullable':
    case 'optional':
      return `${typeOf(kind.of)}?`;
    case 'object':
    case 'tuple':
      return swiftTypeOf(kind).name;
    default:
      return LEAVES[kind.is];
  }
}

/** The method of `Raw` that reads an object or a tuple. */
export const readerOf = ({ name }: SwiftType): string => name[0]!.toLowerCase() + name.slice(1);

/** Kinds that an object's members read by name. */
const OF_MEMBERS: ReadonlySet<string> = new Set(['text', 'count', 'timestamp', 'list']);

/** An expression that reads a field from `members`. */
export function readField({ name, kind, isSnapshot }: SwiftField, hasSizes = false): string {
  const { is } = bare(kind);
  if (isSnapshot) return `try members.snapshot("${name}")`;
  if (is === 'flag' || is === 'mark') return `members["${name}"] == .bool(true)`;
  if (is === 'later') return `members["${name}"]`;
  if (hasSizes) return `try members.size("${name}")`;
  if (OF_MEMBERS.has(kind.is)) return `try ${readPart(kind, 'members', name)}`;
  if (kind.is !== 'optional') return `try ${readPart(kind, `members.required("${name}")`, name)}`;
  const part = `try ${readPart(kind.of, `members["${name}"]?`, name)}`;
  if (is !== 'list' || NIL_IF_ABSENT.has(name)) return part;
  return NIL_IF_EMPTY.has(name) ? `${part}.nonEmpty` : `${part} ?? []`;
}

/** An expression that reads a kind from `raw`, a value or an optional chain. */
export function readPart(kind: Kind, raw: string, name: string): string {
  switch (kind.is) {
    case 'nullable':
      return readPart(kind.of, `${raw}.present?`, name);
    case 'list':
      return `${raw}.items("${name}").map { try ${readPart(kind.of, '$0', name)} }`;
    case 'object':
    case 'tuple':
      return `${raw}.${readerOf(swiftTypeOf(kind))}("${name}")`;
    case 'value':
    case 'content':
      return `${raw}.${kind.is}()`;
    case 'oneOf':
      return `${raw}.choice("${name}")`;
    default:
      return `${raw}.${kind.is}("${name}")`;
  }
}

/**
 * A statement that writes a field behind others, with methods of `out`, a writer. The first field, which is never
 * absent, has no comma.
 */
export function writeField(field: SwiftField, value: string, out = '', isFirst = false): string {
  const { name, label, kind, isSnapshot } = field;
  const put = (what: string) =>
    `${out}${isSnapshot ? 'snapshot' : 'member'}(#"${isFirst ? '{' : ','}"${name}":"#, ${what})`;
  if (isMark(field)) return `if ${value} { ${out}raw(#","${name}":true"#) }`;
  if (kind.is !== 'optional') return put(value);
  if (isOptional(field)) return `if let ${label}${value === label ? '' : ` = ${value}`} { ${put(label)} }`;
  const items = bare(kind);
  const isNested = items.is === 'list' && items.of.is === 'list';
  return `if !${value}${isNested ? '.allSatisfy(\\.isEmpty)' : '.isEmpty'} { ${put(value)} }`;
}
