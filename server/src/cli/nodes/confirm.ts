/** The consent of a user to a command that cannot be taken back at once: the user types a text. */
import { createInterface } from 'node:readline/promises';
import type { Readable } from 'node:stream';
import { Interrupted, UsageError } from '../failures.js';

type Terminal = Readable & { readonly isTTY?: boolean };

/**
 * Asks for a text on the terminal, and goes on only if the user types the text.
 * @throws UsageError without a terminal, where no user can type; Interrupted if the user types another text
 */
export async function confirm(question: string, text: string, input: Terminal = process.stdin): Promise<void> {
  if (input.isTTY !== true) throw new UsageError(`${question}; without a terminal, add --yes to go on`);
  const lines = createInterface({ input, output: process.stderr });
  try {
    const typed = await lines.question(`${question}.\nType ${text} to go on: `);
    if (typed.trim() !== text) throw new Interrupted('nothing was done');
  } finally {
    lines.close();
  }
}
