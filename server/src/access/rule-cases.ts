/** Runs the cases of a file of access rules, and tells which rules they show. */
import { ANONYMOUS_PRINCIPAL, type Principal, packWall, type Value } from '@isochron/core';
import type { Documents, Policy, Verb, Verdict } from '@isochron/sessions';
import type { ParsedRules, RuleCase } from './rules-file.js';

/** The outcome of a case. */
export interface CaseResult {
  readonly name: string;
  readonly passed: boolean;
  /** What was expected, and what the rules decided: `allowed by readers-see`. */
  readonly expected: string;
  readonly actual: string;
}

/** The cases in which a rule decided. */
export interface RuleCoverage {
  readonly rule: string;
  readonly allowed: number;
  readonly refused: number;
}

export interface CasesReport {
  readonly cases: readonly CaseResult[];
  readonly coverage: readonly RuleCoverage[];
  /** Whether every case passed, and every rule has allowed in one and refused in another. */
  readonly complete: boolean;
  readonly failed: number;
}

/** Any time will do: `at` of conditions in cases. */
const AT = packWall(Date.UTC(2026, 0, 1));
const OPERATIONS = ['get', 'list', 'listed', 'create', 'update', 'delete'] as const;

/** Runs all cases. */
export function runCases({ file, policy }: ParsedRules): CasesReport {
  const verdicts = (file.cases ?? []).map((one) => verdictOf(policy, one, { ...file.documents, ...one.documents }));
  const cases = (file.cases ?? []).map((one, i) => resultOf(one, verdicts[i]!));
  const coverage = policy.names.map((rule) => ({
    rule,
    allowed: verdicts.filter((verdict) => verdict.kind === 'allowed' && verdict.rule === rule).length,
    refused: verdicts.filter((verdict) => verdict.kind === 'refused' && verdict.rule === rule).length,
  }));
  const failed = cases.filter(({ passed }) => !passed).length;
  const isCovered = coverage.every(({ allowed, refused }) => allowed > 0 && refused > 0);
  return { cases, coverage, failed, complete: failed === 0 && isCovered };
}

function verdictOf(policy: Policy, one: RuleCase, given: Readonly<Record<string, unknown>>): Verdict | NotOne {
  const named = OPERATIONS.filter((operation) => one[operation] !== undefined);
  const [operation] = named;
  if (operation === undefined || named.length > 1) return { kind: 'not one' };
  const key = one[operation]!;
  const principal = principalOf(one);
  // Documents that the case does not name are not there.
  const documents: Documents = { get: (name) => documentOf(given[name]) };
  if (operation === 'list') return policy.judgeRange({ prefix: key, principal, at: AT }, documents);
  const verb: Verb = operation === 'listed' ? 'list' : operation;
  const incoming = operation === 'create' || operation === 'update' ? documentOf(one.incoming) : null;
  const question = { verb, key, principal, at: AT, document: documentOf(given[key]), incoming };
  const own = verb === 'get' || verb === 'list' ? [] : [[key, incoming] as const];
  return policy.judge(question, documents, afterOf(one, own));
}

/** The documents that the transaction of a case writes. */
const afterOf = ({ after = {} }: RuleCase, own: readonly (readonly [string, Value | null])[]): Documents =>
  new Map([...Object.entries(after).map(([name, value]) => [name, documentOf(value)] as const), ...own]);

/** The case names no operation, or several. */
interface NotOne {
  readonly kind: 'not one';
}

const documentOf = (value: unknown): Value | null => (value == null ? null : JSON.stringify(value));

const principalOf = ({ as: { id, roles, claims } }: RuleCase): Principal => ({
  ...ANONYMOUS_PRINCIPAL,
  id,
  roles: new Set(roles ?? ['reader', 'writer']),
  claims: claims ?? {},
});

function resultOf({ name, expect, rule }: RuleCase, verdict: Verdict | NotOne): CaseResult {
  const decidedBy = 'rule' in verdict ? verdict.rule : undefined;
  const passed = verdict.kind === expect && (rule === undefined || rule === decidedBy);
  const expected = rule === undefined ? expect : `${expect} by ${rule}`;
  return { name, passed, expected, actual: actualOf(verdict) };
}

function actualOf(verdict: Verdict | NotOne): string {
  if (verdict.kind === 'not one') return `a case has one of ${OPERATIONS.join(', ')}`;
  if (verdict.kind !== 'allowed' && verdict.kind !== 'refused') return verdict.kind;
  if (verdict.rule === null) return 'refused: no rule allows it';
  const fault = verdict.kind === 'refused' && verdict.fault !== undefined ? `: ${verdict.fault}` : '';
  return `${verdict.kind} by ${verdict.rule}${fault}`;
}
