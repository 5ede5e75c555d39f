/** `isochron rules`: checks a file of access rules, and runs its cases. */
import { readFileSync } from 'node:fs';
import { type CasesReport, runCases } from '../../access/rule-cases.js';
import { parseRulesFile } from '../../access/rules-file.js';
import { parseClusterFile } from '../../config/cluster-file.js';
import { ReportedFailure } from '../failures.js';
import { print } from '../output.js';

export interface RulesOptions {
  /** Cluster file, whose keyspaces the rules may name. */
  readonly config?: string;
  readonly json: boolean;
}

/** Reads a file. Throws `CONFIG_INVALID` with the line and the reason. */
const parsed = (file: string, { config }: RulesOptions) => {
  const keyspaces =
    config === undefined
      ? undefined
      : parseClusterFile(readFileSync(config, 'utf8'), config).keyspaces.map(({ name }) => name);
  return parseRulesFile(readFileSync(file, 'utf8'), file, keyspaces);
};

/** Prints the number of rules, or fails with what is wrong. */
export function runCheck(file: string, options: RulesOptions): void {
  const { policy } = parsed(file, options);
  print(options.json ? JSON.stringify({ rules: policy.names }) : `${file}: ${policy.names.length} rules`);
}

/** Prints the results of all cases. Fails where one fails, or a rule is not shown from both sides. */
export function runTest(file: string, options: RulesOptions): void {
  const report = runCases(parsed(file, options));
  print(options.json ? JSON.stringify(report) : textOf(report));
  if (report.failed > 0) throw new ReportedFailure(`${report.failed} of ${report.cases.length} cases failed`);
  if (!report.complete)
    throw new ReportedFailure('the cases do not show of every rule that it allows, and that it refuses');
}

function textOf({ cases, coverage }: CasesReport): string {
  const results = cases.flatMap(({ name, passed, expected, actual }) =>
    passed ? [`✓ ${name}`] : [`✗ ${name}`, `    expected: ${expected}`, `    actual:   ${actual}`],
  );
  const width = Math.max(0, ...coverage.map(({ rule }) => rule.length));
  const rules = coverage.map(({ rule, allowed, refused }) => {
    const isMissing = allowed === 0 || refused === 0;
    return `  ${rule.padEnd(width)}  allowed in ${allowed}, refused in ${refused}${isMissing ? '  ← not shown' : ''}`;
  });
  return [...results, '', 'rules:', ...rules].join('\n');
}
