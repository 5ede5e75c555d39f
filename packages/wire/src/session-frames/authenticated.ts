/**
 * The answer to `authenticate`. A function of the notation, as in `operation-answers.ts`: clients whose credentials are
 * not renewed do not load it.
 */
import type { Infer, Notation } from './notation.js';

export function authenticatedAnswer({ text, count, optional, frame }: Notation) {
  return frame('authenticated', {
    id: count,
    token: optional(text),
    /** The node's wall clock, ms since 1970. */
    now: count,
    /** As in `welcome`, for the new credentials. */
    expiresAt: optional(count),
  });
}

export type AuthenticatedFrame = Infer<ReturnType<typeof authenticatedAnswer>>;
