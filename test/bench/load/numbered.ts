/** The name of a numbered key: all have the same length. */
export const numberedKey = (n: number): string => `item-${String(n).padStart(8, '0')}`;
