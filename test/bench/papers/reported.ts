/** An error in a report: one line, files without their folders, since those differ between runs. */
export const reported = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0]!.replaceAll(/(^|\s)\/\S*\/(?=\S)/g, '$1');
