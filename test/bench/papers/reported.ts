/** An error as a report says it: one line, files by their names alone, since their folders are this run's. */
export const reported = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0]!.replaceAll(/(^|\s)\/\S*\/(?=\S)/g, '$1');
