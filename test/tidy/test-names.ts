/** Names of tests: whole sentences, which need no `describe` around them. */
import { child, type Finding, findingAt, identifierName, type Source, type SyntaxNode } from './source.js';

/** A verb or a conjunction in front: the subject is missing. Plural nouns (`reads`, `answers`) are not among them. */
const WITHOUT_SUBJECT =
  /^(?:is|are|was|has|does|can|may|must|and|or|but|runs|returns|refuses|keeps|takes|gives|accepts|throws|shows|uses) /;
const FEWEST_WORDS = 3;

/** Findings of the names that are given as a text to `it` or `test`, also after `.each(…)`. */
export function nameFindings(source: Source): Finding[] {
  return source.nodes.flatMap((node) => {
    const name = nameOf(node);
    if (name === undefined) return [];
    if (WITHOUT_SUBJECT.test(name)) return [findingAt(source, node, `"${name}" has no subject`)];
    return name.split(' ').length < FEWEST_WORDS ? [findingAt(source, node, `"${name}" is no sentence`)] : [];
  });
}

function nameOf(node: SyntaxNode): string | undefined {
  if (node.type !== 'CallExpression' || !isTest(child(node, 'callee'))) return undefined;
  const [first] = Array.isArray(node.arguments) ? (node.arguments as { readonly expression?: SyntaxNode }[]) : [];
  const text = first?.expression;
  return text?.type === 'StringLiteral' && typeof text.value === 'string' ? text.value : undefined;
}

/** `it`, `it.only`, `it.each(table)`. */
function isTest(callee: SyntaxNode | undefined): boolean {
  if (callee === undefined) return false;
  if (callee.type === 'CallExpression') return isTest(child(callee, 'callee'));
  if (callee.type === 'MemberExpression') return isTest(child(callee, 'object'));
  return ['it', 'test'].includes(identifierName(callee) ?? '');
}
