import type { Origin, Version } from '@isochron/core';

/** The version that made the document of a read; null without a document. */
export function originOf(version: Version | null | undefined): Origin | null {
  if (version == null || version.value === null) return null;
  return version.origin ?? version;
}
