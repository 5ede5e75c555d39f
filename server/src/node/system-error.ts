/** The code of a system error (`ENOENT`), undefined for anything else. */
export const codeOfSystemError = (error: unknown): string | undefined =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined;
