/** The words of comments and of type names: a noun for each thing, and one meaning for each noun. */
import type { Finding } from './source.js';

/** A type name with this many meanings names nothing any more. */
const MOST_MEANINGS = 2;

const DECLARATION = /^(?:export )?(?:abstract )?(?<kind>interface|type|class|enum) (?<name>\w+)(?<rest>.*)/gm;
const ALIAS = /^(?:<.*?>)? = (?<target>\w+)/;
const DOC_COMMENT = /\/\*\*(?<text>[\s\S]*?)\*\//g;
/** A pronoun as the first word. `This` and `that` with a noun behind them are none. */
const PRONOUN_FIRST =
  /^(?:It|Its|They|Their|Them|Those|(?:This|That|These) (?:is|are|was|has|have|may|can|must|does))\b/;
/** `those`, `ones`, and `one` without a noun: behind an article or adjective, or before a clause or a full stop. */
const PRONOUN = /\b(?:those|ones|(?:an?|the|this|that|each|every|any|another|other|own|new|old|last|next|first) one)\b/;
const ONE_ALONE = /\bone(?=[,.;:)]|$| (?:that|which|who|whose|with|without|in|on|at|from|for|to|is|was|has|may|by)\b)/;
/** Numbers, not pronouns. */
const NUMBER = /\b(?:at least|at most|exactly|more than|only|by|one by|minus|plus) one\b|\bone by one\b/g;

/** A source file. */
export interface Text {
  readonly path: string;
  readonly text: string;
}

/** Names of types that sources declare with more than two meanings. Aliases of the same type have one meaning. */
export function typeNameFindings(sources: readonly Text[]): Finding[] {
  const meanings = new Map<string, Map<string, string>>();
  for (const { path, text } of sources)
    for (const { groups } of text.matchAll(DECLARATION)) {
      const { kind, name, rest } = groups!;
      const target = kind === 'type' ? ALIAS.exec(rest!)?.groups?.target : undefined;
      const own = meanings.get(name!) ?? new Map<string, string>();
      meanings.set(name!, own.set(target ?? path, path));
    }
  return [...meanings]
    .filter(([, own]) => own.size > MOST_MEANINGS)
    .map(([name, own]) => `${name}: ${own.size} meanings: ${[...own.values()].join(', ')}`);
}

/** Doc comments that begin with a pronoun, or have one in the place of a noun. */
export function pronounFindings({ path, text }: Text): Finding[] {
  return [...text.matchAll(DOC_COMMENT)].flatMap((match) => {
    const words = match
      .groups!.text!.replace(/^\s*\* ?/gm, ' ')
      .replace(/\s+/g, ' ')
      .trim();
    const line = text.slice(0, match.index).split('\n').length;
    const rest = words.replace(/`[^`]*`/g, 'x').replace(NUMBER, 'a number');
    const found = PRONOUN_FIRST.exec(rest) ?? PRONOUN.exec(rest) ?? ONE_ALONE.exec(rest);
    return found === null ? [] : [`${path}:${line}: "${found[0]}" in place of a noun: ${words.slice(0, 90)}`];
  });
}

/** Compares findings with their permitted number. More are listed; fewer are a finding: the number may only fall. */
export function ratchetFindings(findings: readonly Finding[], permitted: number): Finding[] {
  if (findings.length < permitted) return [`${findings.length} findings: lower the permitted number, ${permitted}`];
  return findings.length === permitted ? [] : [`${findings.length} findings, more than ${permitted}:`, ...findings];
}
