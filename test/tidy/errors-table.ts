import type { Finding } from './source.js';

/** The facts of an error code that the document and the code must agree on. */
export interface ErrorFacts {
  readonly status: number;
  readonly retryable: boolean;
  /** The event, and the advice. */
  readonly advice: string;
}

interface ErrorRow extends ErrorFacts {
  readonly code: string;
}

/** The rows `| code | status | yes or no | advice |` of the document, in its order. */
export function parseErrorTable(markdown: string): ErrorRow[] {
  const rows = markdown.matchAll(/^\|\s*`([A-Z_]+)`\s*\|\s*(\d+)\s*\|\s*(yes|no)\s*\|(.*)\|\s*$/gm);
  return [...rows].map(([, code = '', status, retryable, advice = '']) => ({
    code,
    status: Number(status),
    retryable: retryable === 'yes',
    advice: advice.trim(),
  }));
}

/** Differences between the document and the codes, in both directions. */
export function errorTableFindings(markdown: string, codes: Readonly<Record<string, ErrorFacts>>): Finding[] {
  const rows = parseErrorTable(markdown);
  const documented = new Set(rows.map((row) => row.code));
  const missing = Object.keys(codes).filter((code) => !documented.has(code));
  return [
    ...missing.map((code) => `ERRORS.md: ${code} is missing`),
    ...rows.flatMap((row) => rowFindings(row, codes[row.code])),
    ...(documented.size < rows.length ? ['ERRORS.md: a code has two rows'] : []),
  ];
}

function rowFindings(row: ErrorRow, facts: ErrorFacts | undefined): Finding[] {
  if (facts === undefined) return [`ERRORS.md: ${row.code} does not exist`];
  const findings: Finding[] = [];
  if (row.status !== facts.status) findings.push(`ERRORS.md: the status of ${row.code} is ${facts.status}`);
  if (row.retryable !== facts.retryable) findings.push(`ERRORS.md: retryable of ${row.code} is ${facts.retryable}`);
  if (row.advice !== facts.advice) findings.push(`ERRORS.md: the advice of ${row.code} is: ${facts.advice}`);
  return findings;
}
