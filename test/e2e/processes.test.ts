import { run } from './processes.js';

it('a command that hangs is ended after its limit, and the error has its output so far', async () => {
  const program = "console.log('so far'); console.error('and this'); setInterval(() => undefined, 1000)";
  const failure: unknown = await run(process.execPath, ['-e', program], { timeoutMs: 5_000 }).catch((error) => error);
  expect(failure).toBeInstanceOf(Error);
  const { message } = failure as Error;
  expect(message).toContain('took more than 5000 ms');
  expect(message).toContain('\nso far\nand this\n');
});
