import { Gate } from './gate.js';

/** A task inside the gate that goes on until `end` is called. */
function job(gate: Gate): { readonly started: () => boolean; readonly end: () => void; readonly done: Promise<void> } {
  let started = false;
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const done = gate.pass(() => {
    started = true;
    return ended;
  });
  return { started: () => started, end, done };
}

it('a closing gate waits for the tasks inside, and admits none until it opens', async () => {
  const gate = new Gate();
  const [first, second] = [job(gate), job(gate)];
  let closed = false;
  const closing = gate.close().then(() => {
    closed = true;
  });
  const third = job(gate);
  first.end();
  await first.done;
  expect({ closed, third: third.started() }).toEqual({ closed: false, third: false });
  second.end();
  await closing;
  expect(third.started()).toBe(false);
  gate.open();
  third.end();
  await third.done;
  expect(third.started()).toBe(true);
});

it('an empty gate closes at once', async () => {
  const gate = new Gate();
  await gate.close();
  gate.open();
  const only = job(gate);
  only.end();
  await only.done;
});
