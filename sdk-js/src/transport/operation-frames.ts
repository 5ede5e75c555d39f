/** Validates what only clients of single operations get: a part of `frames.ts` that others do not load. */
import type { Timestamp } from '@isochron/core/ids';
import type { GotFrame, WireDependency, WireSeen, WrittenFrame } from '@isochron/wire/session-frames';
import { array, count, object, type Raw, text, timestamp, timestamps, type Values, version } from './frames.js';

/** What a `got` says, with its bytes decoded. */
export interface Got extends Pick<GotFrame, 'seen' | 'depends' | 'ust'> {
  readonly values: Values['values'];
}

/** What a `written` says. */
export type Written = WireSeen & Pick<WrittenFrame, 'ts' | 'ust'>;

/** What a session has seen, and where. Throws FRAME_INVALID. */
export function wireSeen(raw: unknown): WireSeen {
  const { seen, region, ...more } = object(raw, 'seen');
  return { seen: timestamps(seen, 'seen'), region: text(region, 'region'), ...depends(more) };
}

/** Throws FRAME_INVALID. */
export const got = (raw: Raw): Got => ({
  values: array(raw.values, 'values').map(version),
  seen: timestamps(raw.seen, 'seen'),
  ...depends(raw),
  ust: stable(raw),
});

/** Throws FRAME_INVALID. */
export const written = (raw: Raw): Written => ({ ...wireSeen(raw), ts: timestamp(raw.ts, 'ts'), ust: stable(raw) });

const stable = ({ ust }: Raw): Timestamp => timestamp(ust, 'ust');

function depends({ depends: raw }: Raw): Pick<WireSeen, 'depends'> {
  return raw === undefined ? {} : { depends: array(raw, 'depends').map(dependency) };
}

function dependency(raw: unknown): WireDependency {
  const { key, source, ts, near } = object(raw, 'dependency');
  const version = { key: text(key, 'key'), source: count(source, 'source'), ts: timestamp(ts, 'ts') };
  return near === true ? { ...version, near } : version;
}
