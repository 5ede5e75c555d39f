/**
 * Conditions of access rules, in the Common Expression Language (CEL). A condition is checked and planned once. Its
 * evaluation takes time in proportion to the documents that it reads: no macro is inside of another one, what a macro
 * repeats reads no document, and there are no regular expressions.
 */
import { type ASTNode, Environment } from '@marcbachmann/cel-js';

/** The names in a condition beside captures. */
const VARIABLES = { auth: 'map', key: 'string', document: 'dyn', incoming: 'dyn', at: 'double' } as const;

/** The values of a condition's names. */
export interface Facts {
  /** `id`, `roles` and `claims` of the principal. */
  readonly auth: object;
  readonly key: string;
  /** JSON values; null for no document. */
  readonly document: unknown;
  readonly incoming: unknown;
  /** The time of the snapshot, ms. */
  readonly at: number;
  readonly captures: Readonly<Record<string, string>>;
  /** The document of a key in the snapshot. */
  get(key: string): unknown;
}

const LIMITS = { maxAstNodes: 400, maxDepth: 40, maxListElements: 100, maxMapEntries: 100, maxCallArguments: 8 };
/** Longest condition, in characters. */
const MAX_LENGTH = 2_000;
/** Calls of `get` in one condition. */
const MAX_GETS = 10;

const MACROS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);
/** Functions and methods of conditions: each takes time in proportion to its arguments. */
const FUNCTIONS: ReadonlySet<string> = new Set([
  ...MACROS,
  ...['get', 'has', 'size', 'startsWith', 'endsWith', 'contains', 'lowerAscii', 'upperAscii', 'trim'],
  ...['int', 'double', 'string', 'bool', 'type', 'split', 'substring', 'indexOf'],
]);
/** A macro repeats its body, so that must not read what is as long as a document. */
const LONG: ReadonlySet<string> = new Set(['document', 'incoming']);

/** Holds the facts of the evaluation that goes on now. */
let current: Facts | undefined;

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
  for (const [operator, calculate] of Object.entries(numbers)) {
    environment.registerOperator(`double ${operator} int`, (a: number, b: bigint) => calculate(a, Number(b)));
    environment.registerOperator(`int ${operator} double`, (a: bigint, b: number) => calculate(Number(a), b));
  }
  return environment;
}

const BASE = baseEnvironment();

export class Condition {
  readonly #evaluate: (context: Record<string, unknown>) => unknown;
  /** Names of its text. */
  readonly #names: ReadonlySet<string>;

  /** @throws Error with the reason, for a text that is no condition */
  constructor(
    readonly text: string,
    captures: readonly string[],
  ) {
    if (text.length > MAX_LENGTH) throw new Error(`a condition has ${MAX_LENGTH} characters at most`);
    const environment = BASE.clone();
    for (const name of captures) {
      if (name in VARIABLES) throw new Error(`a capture cannot have the name "${name}"`);
      environment.registerVariable(name, 'string');
    }
    const parsed = environment.parse(text);
    const { valid, type, error } = parsed.check();
    if (!valid) throw new Error(firstLine(error?.message ?? 'the condition is not valid'));
    if (type !== 'bool' && type !== 'dyn') throw new Error(`the condition is a ${type}, not true or false`);
    const use = new Use();
    use.add(parsed.ast, undefined);
    this.#names = use.names;
    this.#evaluate = (context) => parsed(context);
  }

  /** Whether it reads a document of the question. */
  uses(name: 'document' | 'incoming'): boolean {
    return this.#names.has(name);
  }

  /** Whether it names a capture. */
  usesCapture(name: string): boolean {
    return this.#names.has(name);
  }

  /** @throws the error of `get`, or of the evaluation: a condition with an error does not hold */
  holds(facts: Facts): boolean {
    const { auth, key, document, incoming, at, captures } = facts;
    const outer = current;
    current = facts;
    try {
      return this.#evaluate({ ...captures, auth, key, document, incoming, at }) === true;
    } finally {
      current = outer;
    }
  }
}

/** Walks over a condition, and refuses what could take long. */
class Use {
  readonly names = new Set<string>();
  #gets = 0;

  /** @param macro the macro in whose body the node is */
  add(node: ASTNode, macro: string | undefined): void {
    const { op, args } = node;
    if (op === 'id') this.#name(String(args), macro);
    else if (op === 'call') {
      const [name, given] = args as [string, ASTNode[]];
      this.#call(name, macro);
      for (const one of given) this.add(one, macro);
    } else if (op === 'rcall') {
      const [name, receiver, given] = args as [string, ASTNode, ASTNode[]];
      this.#call(name, macro);
      this.add(receiver, macro);
      for (const one of given) this.add(one, MACROS.has(name) ? name : macro);
    } else for (const one of nodesIn(args)) this.add(one, macro);
  }

  #name(name: string, macro: string | undefined): void {
    this.names.add(name);
    if (macro !== undefined && LONG.has(name)) throw new Error(`"${name}" cannot be read inside of ${macro}()`);
  }

  #call(name: string, macro: string | undefined): void {
    if (!FUNCTIONS.has(name)) throw new Error(`conditions have no function "${name}"`);
    if (macro !== undefined && MACROS.has(name)) throw new Error(`${name}() cannot be inside of ${macro}()`);
    if (name !== 'get') return;
    if (macro !== undefined) throw new Error(`get() cannot be inside of ${macro}()`);
    if (++this.#gets > MAX_GETS) throw new Error(`a condition reads ${MAX_GETS} other documents at most`);
  }
}

/** The nodes among the parts of a node. */
function nodesIn(args: unknown): ASTNode[] {
  if (Array.isArray(args)) return args.flatMap(nodesIn);
  return typeof args === 'object' && args !== null && 'op' in args ? [args as ASTNode] : [];
}

const firstLine = (text: string): string => text.split('\n')[0]!;
