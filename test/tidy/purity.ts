import { child, type Finding, findingAt, identifierName, type Source, type SyntaxNode } from './source.js';

const BANNED_MEMBERS = new Set(['Date.now', 'Math.random']);
const BANNED_GLOBALS = new Set(['performance', 'process', 'crypto', 'Promise']);
const BANNED_CALLS = new Set(['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'fetch']);
/** The functions of `node:crypto` that depend only on their arguments. */
const PURE_CRYPTO = new Set(['createCipheriv', 'createDecipheriv', 'createHash', 'createHmac', 'timingSafeEqual']);
const BANNED_CLASSES = new Set(['Promise', 'WebSocket', 'EventSource', 'XMLHttpRequest']);

/** Uses of time, randomness, timers, sockets and promises: protocol code receives these from its driver instead. */
export function purityFindings(source: Source): Finding[] {
  return source.nodes.flatMap((node) => {
    const problem = impurity(node);
    return problem === undefined ? [] : [findingAt(source, node, `${problem} is not allowed here`)];
  });
}

function impurity(node: SyntaxNode): string | undefined {
  // The parser keeps the function of a class method in a part without a type.
  if (isAsync(node) || isAsync(node.function)) return 'an async function';
  if (node.isAwait === true) return 'for await';
  switch (node.type) {
    case 'AwaitExpression':
      return 'await';
    case 'MemberExpression':
      return impureMember(identifierName(child(node, 'object')), identifierName(child(node, 'property')));
    case 'CallExpression':
      return impureCall(identifierName(child(node, 'callee')));
    case 'NewExpression':
      return impureConstruction(identifierName(child(node, 'callee')), node.arguments);
    case 'ImportDeclaration':
      return impureImport(child(node, 'source')?.value, node.specifiers);
    default:
      return undefined;
  }
}

const isAsync = (part: unknown): boolean =>
  typeof part === 'object' && part !== null && 'async' in part && part.async === true;

function impureMember(object = '', property = ''): string | undefined {
  const name = `${object}.${property}`;
  return BANNED_MEMBERS.has(name) || BANNED_GLOBALS.has(object) ? name : undefined;
}

const impureCall = (name = ''): string | undefined =>
  BANNED_CALLS.has(name) || name === 'Date' ? `${name}()` : undefined;

function impureConstruction(name = '', args: unknown): string | undefined {
  if (BANNED_CLASSES.has(name)) return `new ${name}`;
  const empty = !Array.isArray(args) || args.length === 0;
  return name === 'Date' && empty ? 'new Date()' : undefined;
}

function impureImport(specifier: unknown, names: unknown): string | undefined {
  if (typeof specifier !== 'string' || !specifier.startsWith('node:')) return undefined;
  const pure = specifier === 'node:crypto' && Array.isArray(names) && names.every(isPureCrypto);
  return pure ? undefined : `importing ${specifier}`;
}

/** Only under its own name: `local` is the name in the importing file. */
const isPureCrypto = (imported: SyntaxNode): boolean =>
  imported.type === 'ImportSpecifier' &&
  child(imported, 'imported') === undefined &&
  PURE_CRYPTO.has(identifierName(child(imported, 'local')) ?? '');
