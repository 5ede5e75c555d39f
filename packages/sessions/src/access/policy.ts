/**
 * Access rules: who may do what with which keys. A rule names keys by a pattern, operations, and a condition on the
 * principal and documents of one snapshot. Any rule that allows an operation suffices; without one it is refused.
 */
import { type Principal, type QualifiedKey, type Timestamp, type Value, wallOf } from '@isochron/core';
import { Condition, type Facts } from './condition.js';
import { Pattern } from './pattern.js';
import { type Documents, JudgedReads, Unreadable } from './reads.js';

/** Operations that rules allow. */
export const VERBS = ['get', 'list', 'create', 'update', 'delete'] as const;
export type Verb = (typeof VERBS)[number];

/** A rule as its author writes it. */
export interface RuleSource {
  readonly name: string;
  /** A pattern: keyspace and key, such as `albums/{album}/photos/{photo}`. */
  readonly match: string;
  readonly allow: readonly Verb[];
  /** A condition in CEL; absent for always. */
  readonly when?: string | undefined;
  /** In lists, documents for which the condition does not hold are left out; otherwise it is judged for the range. */
  readonly filter?: boolean | undefined;
}

/** A rule that cannot be used: where in the rules, and why. */
export class RuleFault extends Error {
  constructor(
    readonly path: readonly (string | number)[],
    reason: string,
  ) {
    super(reason);
  }
}

/** Who asks, and when. */
export interface Asker {
  readonly principal: Principal;
  /** The snapshot in which the question is judged; for the newest documents the time of the coordinator. */
  readonly at: Timestamp;
}

/** One document: what is there in the snapshot, and what a write makes of it. */
export interface DocumentQuestion extends Asker {
  readonly verb: Verb;
  readonly key: QualifiedKey;
  readonly document: Value | null;
  /** Null for a delete, and for reads. */
  readonly incoming: Value | null;
}

/** A list: all keys with a beginning, qualified. */
export interface RangeQuestion extends Asker {
  /** The beginning of all of its keys. */
  readonly prefix: string;
  /** The level of all of its keys; absent for any. */
  readonly level?: number | undefined;
}

/** `read` has the documents on which the verdict depends, beside that of the question. */
export type Verdict =
  | { readonly kind: 'allowed'; readonly rule: string; readonly read: ReadonlySet<QualifiedKey> }
  /** Each document of the list is judged. */
  | { readonly kind: 'filtered' }
  /** By the last rule that could have allowed it; null without one. `fault`: it would have cost too much, and why. */
  | { readonly kind: 'refused'; readonly rule: string | null; readonly fault?: string }
  /** Documents that have to be read in the same snapshot first. */
  | { readonly kind: 'needs'; readonly keys: readonly QualifiedKey[] };

interface Rule {
  readonly name: string;
  readonly pattern: Pattern;
  readonly allows: ReadonlySet<Verb>;
  readonly condition: Condition | undefined;
  readonly filters: boolean;
}

const MAX_RULES = 500;
/** The part of a range that filters show. No pattern is empty. */
const FILTERED = '';
const NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;

export class Policy {
  readonly #rules: readonly Rule[];
  /** Those that allow each operation. */
  readonly #allowing: Readonly<Record<Verb, readonly Rule[]>>;

  /**
   * @param keyspaces the keyspaces of the cluster
   * @throws RuleFault
   */
  constructor(
    sources: readonly RuleSource[],
    readonly keyspaces: readonly string[],
  ) {
    if (sources.length > MAX_RULES) throw new RuleFault([MAX_RULES], `there are ${MAX_RULES} rules at most`);
    const names = new Set<string>();
    this.#rules = sources.map((source, i) => {
      if (names.has(source.name)) throw new RuleFault([i, 'name'], `the name "${source.name}" is taken`);
      names.add(source.name);
      return ruleOf(source, i, keyspaces);
    });
    const allowing = (verb: Verb) => this.#rules.filter(({ allows }) => allows.has(verb));
    this.#allowing = {
      get: allowing('get'),
      list: allowing('list'),
      create: allowing('create'),
      update: allowing('update'),
      delete: allowing('delete'),
    };
  }

  /** Names of its rules, in their order. */
  get names(): readonly string[] {
    return this.#rules.map(({ name }) => name);
  }

  /** Whether a rule's pattern matches a key. */
  matches(name: string, key: QualifiedKey): boolean {
    return this.#rules.some((rule) => rule.name === name && rule.pattern.match(key) !== undefined);
  }

  /**
   * A rule that filters lists of a range by other documents than theirs, or by the time: documents become visible or
   * hidden there without a change of their own.
   */
  unwatchableFilter({ prefix, level }: Pick<RangeQuestion, 'prefix' | 'level'>): string | undefined {
    const found = this.#allowing.list.find(
      ({ filters, condition, pattern }) =>
        filters && (condition?.readsOthers === true || condition?.uses('at')) && pattern.mayMatch(prefix, level),
    );
    return found?.name;
  }

  /** The parts of a range that may be permitted: the keys of a pattern, or what the filters show. See `partOf`. */
  partsOf({ prefix, level }: Pick<RangeQuestion, 'prefix' | 'level'>): ReadonlySet<string> {
    const parts = this.#allowing.list.flatMap(({ filters, pattern }) => {
      if (filters) return pattern.mayMatch(prefix, level) ? [FILTERED] : [];
      return pattern.cover(prefix, level) === undefined ? [] : [pattern.text];
    });
    return new Set(parts);
  }

  /** The part of a range that a verdict permits; undefined where it refuses. */
  partOf(verdict: Verdict): string | undefined {
    if (verdict.kind === 'filtered') return FILTERED;
    return verdict.kind === 'allowed' ? this.#rules.find(({ name }) => name === verdict.rule)?.pattern.text : undefined;
  }

  /** A role or claim for which a rule asks, or the operation itself, and which the principal lacks. */
  lackedBy({ roles, claims }: Principal, verb: Verb, rule: string | null): string | undefined {
    const role = roleFor(verb);
    if (!roles.has(role) && !roles.has('writer')) return `the role ${role}`;
    const condition = this.#rules.find(({ name }) => name === rule)?.condition;
    const claim = condition?.claims.find((name) => !Object.hasOwn(claims, name));
    if (claim !== undefined) return `the claim ${claim}`;
    const named = condition?.roles.find((name) => !(roles as ReadonlySet<string>).has(name));
    return named === undefined ? undefined : `the role ${named}`;
  }

  /**
   * The rule that the refusal of a write names: the last one that allows to create or to update the document. Whether
   * that is there decides between the two, so that a refusal must not depend on which of them it was (AR5).
   */
  namedByRefusal(key: QualifiedKey): string | null {
    const rule = this.#rules.findLast(
      ({ allows, pattern }) => (allows.has('create') || allows.has('update')) && pattern.match(key) !== undefined,
    );
    return rule?.name ?? null;
  }

  /**
   * Judges an operation on a document. Hot.
   * @param documents those that were read for it so far
   * @param after those that its transaction writes, as they will be; undefined for all others
   */
  judge(question: DocumentQuestion, documents: Documents, after?: Documents): Verdict {
    const { verb, key, principal, at } = question;
    const parts = key.split('/');
    const reads = new JudgedReads(documents, this.keyspaces, after);
    return this.#first(verb, principal, reads, key, ({ pattern, condition, filters }) => {
      // A document of a filtered list is judged by filters alone.
      if (verb === 'list' && !filters) return undefined;
      const captures = pattern.match(key, parts);
      if (captures === undefined) return undefined;
      const value = (name: 'document' | 'incoming') => (condition?.uses(name) ? reads.value(question[name]) : null);
      return {
        auth: authOf(principal),
        at: wallOf(at),
        captures,
        key,
        document: value('document'),
        incoming: value('incoming'),
      };
    });
  }

  /**
   * Judges a list as a whole. Conditions have no `key` then, and not the last capture: they differ from document to
   * document. @param documents those of the snapshot that were read for it so far
   */
  judgeRange(question: RangeQuestion, documents: Documents): Verdict {
    const { prefix, level, principal, at } = question;
    const reads = new JudgedReads(documents, this.keyspaces);
    const verdict = this.#first('list', principal, reads, prefix, (rule) => {
      const captures = rule.filters ? undefined : rule.pattern.cover(prefix, level);
      return captures && { auth: authOf(principal), at: wallOf(at), captures, document: null, incoming: null };
    });
    if (verdict.kind !== 'refused') return verdict;
    const filters = this.#rules.some(
      ({ filters, allows, pattern }) => filters && allows.has('list') && pattern.mayMatch(prefix, level),
    );
    return filters ? { kind: 'filtered' } : verdict;
  }

  /** The first rule that allows it decides. @param place the key, or the beginning of all keys */
  #first(verb: Verb, principal: Principal, reads: JudgedReads, place: string, factsOf: FactsOf): Verdict {
    const { roles } = principal;
    if (!roles.has(roleFor(verb)) && !roles.has('writer')) return { kind: 'refused', rule: null };
    let refusal: Verdict = { kind: 'refused', rule: null };
    for (const rule of this.#allowing[verb]) {
      reads.begin(rule.condition?.longest(principal, place) ?? Number.POSITIVE_INFINITY);
      const found = outcomeOf(rule, reads, factsOf);
      if (found === 'holds') return { kind: 'allowed', rule: rule.name, read: reads.read };
      // Another rule may allow it without, but the document decides whether this one does.
      if (found !== 'other keys') refusal = { kind: 'refused', rule: rule.name, ...found };
    }
    const { missing } = reads;
    return missing.size > 0 ? { kind: 'needs', keys: [...missing] } : refusal;
  }
}

const roleFor = (verb: Verb): 'reader' | 'writer' => (verb === 'get' || verb === 'list' ? 'reader' : 'writer');

/** The facts of a question for a rule; undefined where its pattern does not match. */
type FactsOf = (rule: Rule) => Facts | undefined;

/** Whether a rule holds. A condition that ends with an error does not. */
function outcomeOf(
  rule: Rule,
  reads: JudgedReads,
  factsOf: FactsOf,
): 'other keys' | 'holds' | { readonly fault?: string } {
  try {
    const given = factsOf(rule);
    if (given === undefined) return 'other keys';
    const { condition } = rule;
    return condition === undefined || condition.holds(given, reads) ? 'holds' : {};
  } catch (error) {
    return error instanceof Unreadable ? { fault: error.message } : {};
  }
}

/** A principal as conditions see it. */
interface Auth {
  readonly id: string;
  readonly roles: readonly string[];
  readonly claims: Principal['claims'];
}

const auths = new WeakMap<Principal, { readonly roles: Principal['roles']; readonly auth: Auth }>();

/** Made once, and anew for a key whose entry in the file has changed: its principal is the same object. */
function authOf(principal: Principal): Auth {
  const { id, roles, claims } = principal;
  const known = auths.get(principal);
  if (known?.roles === roles && known.auth.claims === claims) return known.auth;
  const auth = { id, roles: [...roles], claims };
  auths.set(principal, { roles, auth });
  return auth;
}

function ruleOf(
  { name, match, allow, when, filter = false }: RuleSource,
  i: number,
  keyspaces: readonly string[],
): Rule {
  if (!NAME.test(name)) throw new RuleFault([i, 'name'], 'a name has 1 to 64 lower-case letters, digits and dashes');
  const pattern = checked([i, 'match'], () => new Pattern(match));
  if (!keyspaces.includes(pattern.keyspace))
    throw new RuleFault([i, 'match'], `there is no keyspace "${pattern.keyspace}" in this cluster`);
  if (allow.length === 0) throw new RuleFault([i, 'allow'], `a rule allows at least one of ${VERBS.join(', ')}`);
  const condition = when === undefined ? undefined : checked([i, 'when'], () => new Condition(when, pattern.captures));
  const allows = new Set(allow);
  if (filter && (!allows.has('list') || condition === undefined))
    throw new RuleFault([i, 'filter'], '"filter" belongs to a rule that allows list under a condition');
  if (allows.has('list') && !filter && condition?.uses('document'))
    throw new RuleFault([i, 'when'], 'a list has no single "document": write a rule of its own with filter: true');
  return { name, pattern, allows, condition, filters: filter };
}

function checked<T>(path: readonly (string | number)[], make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw new RuleFault(path, error instanceof Error ? error.message : 'cannot be read');
  }
}
