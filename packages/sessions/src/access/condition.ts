/**
 * Conditions of access rules, in the Common Expression Language (CEL). A condition is checked and planned once. Its
 * evaluation takes time in proportion to the documents that it reads: no macro is inside of another one, what a macro
 * repeats or a search looks for reads no document, and there are no regular expressions.
 */
import { type ASTNode, Environment } from '@marcbachmann/cel-js';

/** The names in a condition beside captures. */
const VARIABLES = { auth: 'map', key: 'string', document: 'dyn', incoming: 'dyn', at: 'double' } as const;

/** The values of a condition's names. */
export interface Facts {
  /** `id`, `roles` and `claims` of the principal. */
  readonly auth: object;
  /** Absent where it is judged for a range. */
  readonly key?: string;
  /** JSON values; null for no document. */
  readonly document: unknown;
  readonly incoming: unknown;
  /** The time of the snapshot, ms. */
  readonly at: number;
  readonly captures: Readonly<Record<string, string>>;
}

/** The other documents: as they are, and as they will be after the transaction. */
export interface Others {
  get(key: string): unknown;
  getAfter(key: string): unknown;
}

const LIMITS = { maxAstNodes: 400, maxDepth: 40, maxListElements: 100, maxMapEntries: 100, maxCallArguments: 8 };
/** Longest condition, in characters. */
const MAX_LENGTH = 2_000;
/** Calls of `get` and `getAfter` in one condition. */
const MAX_GETS = 10;
/** Most characters of a document, times those of the principal or key that are compared with its parts. */
const MAX_PRODUCT = 2 ** 24;

const MACROS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);
/** Functions and methods of conditions: each takes time in proportion to its arguments. */
const FUNCTIONS: ReadonlySet<string> = new Set([
  ...MACROS,
  ...['get', 'getAfter', 'has', 'size', 'startsWith', 'endsWith', 'contains', 'lowerAscii', 'upperAscii', 'trim'],
  ...['int', 'double', 'string', 'bool', 'type', 'split', 'substring', 'indexOf'],
]);
/** Functions that read another document. */
const GETS: ReadonlySet<string> = new Set(['get', 'getAfter']);
/** Methods that may compare their argument with each place of a text. */
const SEARCHES: ReadonlySet<string> = new Set(['contains', 'indexOf', 'split']);
/** A macro repeats its body, so that must not read what is as long as a document. */
const LONG: ReadonlySet<string> = new Set(['document', 'incoming']);

/** The other documents of the evaluation that goes on now. */
let current: Others | undefined;

const numbers: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
};

/** The environment of conditions, without captures. Numbers of documents are doubles, and count with whole ones. */
function baseEnvironment(): Environment {
  const environment = new Environment({ limits: LIMITS, homogeneousAggregateLiterals: false });
  for (const [name, type] of Object.entries(VARIABLES)) environment.registerVariable(name, type);
  environment.registerFunction('get(string): dyn', (key: string) => current!.get(key));
  environment.registerFunction('getAfter(string): dyn', (key: string) => current!.getAfter(key));
  for (const [operator, calculate] of Object.entries(numbers)) {
    environment.registerOperator(`double ${operator} int`, (a: number, b: bigint) => calculate(a, Number(b)));
    environment.registerOperator(`int ${operator} double`, (a: bigint, b: number) => calculate(Number(a), b));
  }
  return environment;
}

const BASE = baseEnvironment();

export class Condition {
  readonly #evaluate: (context: Record<string, unknown>) => unknown;
  readonly #use: Use;

  /** @throws Error with the reason, for a text that is no condition */
  constructor(
    readonly text: string,
    captures: readonly string[],
  ) {
    if (text.length > MAX_LENGTH) throw new Error(`a condition has ${MAX_LENGTH} characters at most`);
    const environment = BASE.clone();
    for (const name of captures) {
      if (environment.hasVariable(name))
        throw new Error(`a capture cannot have the name "${name}": conditions have it for something else`);
      environment.registerVariable(name, 'string');
    }
    const parsed = environment.parse(text);
    const { valid, type, error } = parsed.check();
    if (!valid) throw new Error(firstLine(error?.message ?? 'the condition is not valid'));
    if (type !== 'bool' && type !== 'dyn') throw new Error(`the condition is a ${type}, not true or false`);
    this.#use = new Use(new Set([...Object.keys(VARIABLES), ...captures]));
    this.#use.add(parsed.ast, undefined);
    this.#evaluate = (context) => parsed(context);
  }

  /** Whether it reads a document of the question, or its time. */
  uses(name: 'document' | 'incoming' | 'at'): boolean {
    return this.#use.names.has(name);
  }

  /** Whether it reads other documents. */
  get readsOthers(): boolean {
    return this.#use.gets > 0;
  }

  /** The claims of the principal that it names. */
  get claims(): readonly string[] {
    return [...this.#use.claims];
  }

  /** The roles of the principal that it names: `'x' in auth.roles`. */
  get roles(): readonly string[] {
    return [...this.#use.roles];
  }

  /**
   * The most characters of a document that it may read: fewer where it repeats comparisons with something long.
   * @param place the key, of which captures are parts
   */
  longest({ id, claims }: { readonly id: string; readonly claims: object }, place: string): number {
    const { repeated } = this.#use;
    if (repeated.size === 0) return Number.POSITIVE_INFINITY;
    const principal = repeated.has('auth') ? id.length + JSON.stringify(claims).length : 0;
    return MAX_PRODUCT / (place.length + principal);
  }

  /** @throws the error of `get` or `getAfter`, or of the evaluation: a condition with an error does not hold */
  holds({ captures, auth, key, document, incoming, at }: Facts, others: Others): boolean {
    const outer = current;
    current = others;
    const context: Record<string, unknown> = { auth, document, incoming, at };
    if (key !== undefined) context.key = key;
    // A spread of the captures takes as long as all the rest.
    for (const name in captures) context[name] = captures[name];
    try {
      return this.#evaluate(context) === true;
    } finally {
      current = outer;
    }
  }
}

/** Walks over a condition, and refuses what could take long. */
class Use {
  readonly names = new Set<string>();
  /** Names that are evaluated again and again. */
  readonly repeated = new Set<string>();
  /** Calls that read other documents. */
  gets = 0;
  readonly claims = new Set<string>();
  readonly roles = new Set<string>();

  /** @param known names of the condition; all others are items of macros */
  constructor(readonly known: ReadonlySet<string>) {}

  /** @param within the macro in whose body the node is, or the search that looks for it */
  add(node: ASTNode, within: string | undefined): void {
    const { op, args } = node;
    this.#asked(node);
    if (op === 'id') this.#name(String(args), within);
    else if (op === 'call') {
      const [name, given] = args as [string, ASTNode[]];
      this.#call(name, within);
      for (const one of given) this.add(one, within);
    } else if (op === 'rcall') {
      const [name, receiver, given] = args as [string, ASTNode, ASTNode[]];
      this.#call(name, within);
      if (MACROS.has(name)) this.#macro(name, receiver, given);
      this.add(receiver, within);
      for (const one of given) this.add(one, MACROS.has(name) || SEARCHES.has(name) ? name : within);
    } else for (const one of nodesIn(args)) this.add(one, within);
  }

  /** What of the principal is asked for by name. */
  #asked({ op, args }: ASTNode): void {
    const [of, name] = Array.isArray(args) ? (args as unknown[]) : [];
    if (op === '.' && isPrincipals(of, 'claims')) this.claims.add(String(name));
    if (op === 'in' && isPrincipals(name, 'roles') && isNode(of) && of.op === 'value') this.roles.add(String(of.args));
  }

  #name(name: string, within: string | undefined): void {
    this.names.add(name);
    if (within === undefined) return;
    if (LONG.has(name)) throw new Error(`"${name}" cannot be read inside of ${within}()`);
    if (this.known.has(name)) this.repeated.add(name);
    else if (SEARCHES.has(within))
      throw new Error(`${within}() looks for a text of the condition, the principal or the key, not for "${name}"`);
  }

  #call(name: string, within: string | undefined): void {
    if (!FUNCTIONS.has(name)) throw new Error(`conditions have no function "${name}"`);
    if (within !== undefined && (MACROS.has(name) || GETS.has(name)))
      throw new Error(`${name}() cannot be inside of ${within}()`);
    if (GETS.has(name) && ++this.gets > MAX_GETS)
      throw new Error(`a condition reads ${MAX_GETS} other documents at most`);
  }

  /** A map over a map could double a value with each of them; an item with the name of another value would hide it. */
  #macro(name: string, receiver: ASTNode, [item]: readonly ASTNode[]): void {
    if (name === 'map' && hasMap(receiver)) throw new Error('map() cannot follow map()');
    if (item?.op === 'id' && this.known.has(String(item.args)))
      throw new Error(`items of ${name}() need another name than "${item.args}"`);
  }
}

const isNode = (part: unknown): part is ASTNode => typeof part === 'object' && part !== null && 'op' in part;

/** Whether a part is `auth.claims`, or `auth.roles`. */
function isPrincipals(part: unknown, field: 'claims' | 'roles'): boolean {
  if (!isNode(part) || part.op !== '.') return false;
  const [of, name] = Array.isArray(part.args) ? (part.args as unknown[]) : [];
  return name === field && isNode(of) && of.op === 'id' && String(of.args) === 'auth';
}

const hasMap = ({ op, args }: ASTNode): boolean => (op === 'rcall' && args[0] === 'map') || nodesIn(args).some(hasMap);

/** The nodes among the parts of a node. */
function nodesIn(args: unknown): ASTNode[] {
  if (Array.isArray(args)) return args.flatMap(nodesIn);
  return isNode(args) ? [args] : [];
}

const firstLine = (text: string): string => text.split('\n')[0]!;
