/**
 * Takes items away as long as the rest still fails: halves first, then smaller and smaller parts, down to single items
 * (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002).
 */
export function minimise<T>(items: readonly T[], fails: (rest: readonly T[]) => boolean): readonly T[] {
  let rest = items;
  for (
    let size = Math.ceil(rest.length / 2);
    size >= 1 && rest.length > 0;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let start = 0; start < rest.length; ) {
      const candidate = [...rest.slice(0, start), ...rest.slice(start + size)];
      if (fails(candidate)) rest = candidate;
      else start += size;
    }
  }
  return rest;
}
