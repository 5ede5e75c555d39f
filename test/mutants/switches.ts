/**
 * All patches in one text, each behind a switch. The innermost function around a patch has two bodies: that of the
 * source, and the patched one, which runs while the switch is on. So one build, whose code stays compiled, serves all
 * mutants.
 */
import { type Body, bodiesOf, type Place } from './anchor.js';
import { type Patch, placeOf } from './mutant.js';

/** Patches of one file that are switched on and off together. */
export interface Switch {
  readonly number: number;
  readonly patches: readonly Patch[];
}

/** The global variable with the switches: `on` has those that are on, `ran` the patched functions that ran. */
export const SWITCHES = 'isochronSwitches';

interface Alternative {
  readonly number: number;
  readonly body: Body;
  readonly text: string;
}

/**
 * The alternatives of a switch: one for each function that contains a patch.
 * @returns undefined if a patch is outside of all functions, or in a constructor that calls `super`
 */
function alternativesOf(source: string, { number, patches }: Switch): readonly Alternative[] | undefined {
  const places = patches.map((patch) => ({ ...placeOf(source, patch), replace: patch.replace }));
  const bodies = new Set(places.map((place) => innermost(bodiesOf(source), place)));
  const alternatives: Alternative[] = [];
  for (const body of bodies) {
    if (body === undefined) return undefined;
    const inside = places.filter((place) => contains(body, place)).sort((a, b) => b.start - a.start);
    const text = inside.reduce(
      (all, { start, end, replace }) => all.slice(0, start) + replace + all.slice(end),
      source,
    );
    const added = text.length - source.length;
    const patchedBody = text.slice(body.start, body.end + added);
    if (/\bsuper\(/.test(patchedBody)) return undefined;
    alternatives.push({ number, body, text: patchedBody });
  }
  return alternatives;
}

const contains = (outer: Place, inner: Place): boolean => outer.start <= inner.start && inner.end <= outer.end;

/** Bodies come from outside to inside, so that the last one is the innermost. */
const innermost = (bodies: readonly Body[], place: Place): Body | undefined =>
  bodies.findLast((body) => contains(body, place));

/**
 * The source with its switches.
 * @returns the numbers of the switches that the text has: the others need a build of their own
 * @throws RangeError for a patch whose place does not occur exactly once
 */
export function switched(source: string, switches: readonly Switch[]): { text: string; numbers: readonly number[] } {
  const found = switches.map((one) => alternativesOf(source, one)).filter((one) => one !== undefined);
  const alternatives = found.flat();
  const bodies = bodiesOf(source).filter((body) => alternatives.some((one) => one.body.start === body.start));
  let text = source;
  // From the last body to the first, and from inside to outside: what stands before a body has not moved yet.
  const ends = new Map(bodies.map((body) => [body, body.end]));
  for (const body of [...bodies].reverse()) {
    const own = alternatives.filter((one) => one.body.start === body.start);
    const end = ends.get(body)!;
    const replacement = (body.isBlock ? blockOf : expressionOf)(text.slice(body.start, end), own);
    text = text.slice(0, body.start) + replacement + text.slice(end);
    const added = replacement.length - (end - body.start);
    for (const outer of bodies) if (outer !== body && contains(outer, body)) ends.set(outer, ends.get(outer)! + added);
  }
  return { text, numbers: [...new Set(alternatives.map(({ number }) => number))] };
}

const isOn = (number: number): string => `${SWITCHES}.on[${number}]`;
const runs = (number: number): string => `${SWITCHES}.ran[${number}] = 1`;

const blockOf = (body: string, alternatives: readonly Alternative[]): string =>
  `{ ${alternatives.map(({ number, text }) => `if (${isOn(number)}) { ${runs(number)}; ${text} } else `).join('')}${body} }`;

const expressionOf = (body: string, alternatives: readonly Alternative[]): string =>
  `(${alternatives.map(({ number, text }) => `${isOn(number)} ? (${runs(number)}, (${text})) : `).join('')}(${body}))`;
