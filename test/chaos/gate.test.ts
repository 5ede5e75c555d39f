import { Gate } from './gate.js';

/** Something that goes on until it is told to end. */
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

it('waits for those inside when it closes, and lets nobody in until it opens', async () => {
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

it('closes at once when nobody is inside', async () => {
  const gate = new Gate();
  await gate.close();
  gate.open();
  const only = job(gate);
  only.end();
  await only.done;
});
