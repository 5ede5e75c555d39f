/** Allocations that code requests: a declared length must be refused before memory for it is allocated. */

/** Constructors that take a length and allocate that much. */
const MAKERS = ['Array', 'ArrayBuffer', 'Uint8Array', 'Float64Array', 'BigUint64Array'] as const;
const BUFFER_MAKERS = ['alloc', 'allocUnsafe', 'allocUnsafeSlow'] as const;

/** The greatest length allocated while `run` runs, in items or bytes. Counts constructor calls, not literals. */
export function largestAllocation(run: () => void): number {
  let largest = 0;
  const note = (length: unknown) => {
    if (typeof length === 'number' && length > largest) largest = length;
  };
  const undo = [
    ...MAKERS.map((name) => watchConstructor(name, note)),
    ...BUFFER_MAKERS.map((name) => watchBuffer(name, note)),
  ];
  try {
    run();
  } finally {
    for (const restore of undo) restore();
  }
  return largest;
}

function watchConstructor(name: (typeof MAKERS)[number], note: (length: unknown) => void): () => void {
  const original: unknown = Reflect.get(globalThis, name);
  const watched: typeof Array = new Proxy(original as typeof Array, {
    construct(target, args: unknown[], newTarget) {
      note(args[0]);
      return Reflect.construct(target, args, newTarget === watched ? target : newTarget);
    },
    apply(target, self, args: unknown[]) {
      note(args[0]);
      return Reflect.apply(target, self, args);
    },
  });
  Reflect.set(globalThis, name, watched);
  return () => Reflect.set(globalThis, name, original);
}

function watchBuffer(name: (typeof BUFFER_MAKERS)[number], note: (length: unknown) => void): () => void {
  const original = Buffer[name];
  Reflect.set(Buffer, name, (length: number, ...rest: []) => {
    note(length);
    return original.call(Buffer, length, ...rest);
  });
  return () => Reflect.set(Buffer, name, original);
}
