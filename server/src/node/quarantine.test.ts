import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clearQuarantine, quarantine, quarantineOf } from './quarantine.js';

describe('the verdict of a node on its disk', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'isochron-quarantine-'));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('a data folder without a verdict is in no quarantine', () => {
    expect(quarantineOf(folder)).toBeUndefined();
  });

  it('a verdict is read back by the next start', () => {
    quarantine(folder, { step: 'retire', reason: 'a record is damaged' });
    expect(quarantineOf(folder)).toEqual({ step: 'retire', reason: 'a record is damaged' });
  });

  it('a damaged verdict means a rebuild, the safe step', () => {
    for (const text of ['', '{', 'null', '{"step":"other","reason":"r"}', '{"step":"retire"}']) {
      writeFileSync(join(folder, 'QUARANTINE.json'), text);
      expect(quarantineOf(folder)).toEqual({ step: 'rebuild', reason: 'the file QUARANTINE.json is damaged' });
    }
  });

  it('a cleared quarantine leaves no verdict', () => {
    quarantine(folder, { step: 'rebuild', reason: 'r' });
    clearQuarantine(folder);
    expect(quarantineOf(folder)).toBeUndefined();
    expect(existsSync(join(folder, 'QUARANTINE.json'))).toBe(false);
  });

  it('a verdict that cannot be read is an error, not the absence of one', () => {
    expect(() => quarantineOf(join(folder, 'x'.repeat(300)))).toThrow();
  });
});
