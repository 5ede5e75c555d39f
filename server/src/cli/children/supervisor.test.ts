import { backoffMs } from './supervisor.js';

describe('backoffMs', () => {
  it('backoffMs doubles from a quarter of a second to ten seconds', () => {
    expect([0, 1, 2, 5, 6, 60].map(backoffMs)).toEqual([250, 500, 1000, 8000, 10_000, 10_000]);
  });
});
