import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writePage } from '../bench/page/files.js';
import { NOTHING_MEASURED } from '../bench/page/measured.js';
import { pageFindings } from './performance-page.js';

describe('docs/performance.md', () => {
  it('docs/performance.md and its plots are those that docs/performance/measured.json gives', () => {
    expect(pageFindings(join(__dirname, '../../docs'))).toEqual([]);
  });
});

describe('a page of figures', () => {
  const docs = mkdtempSync(join(tmpdir(), 'isochron-page-findings-'));
  beforeEach(() => writePage(docs, NOTHING_MEASURED));
  afterAll(() => rmSync(docs, { recursive: true, force: true }));

  it('a page of figures that was changed by hand is found', () => {
    expect(pageFindings(docs)).toEqual([]);
    appendFileSync(join(docs, 'performance.md'), 'x');
    expect(pageFindings(docs)).toEqual([expect.stringMatching(/^docs\/performance\.md: is not what/)]);
  });

  it('a missing page of figures is found', () => {
    rmSync(join(docs, 'performance.md'));
    expect(pageFindings(docs)).toHaveLength(1);
  });

  it('a file beside a page of figures that the page does not refer to is found', () => {
    writeFileSync(join(docs, 'performance/old.svg'), '<svg/>');
    expect(pageFindings(docs)).toEqual(['docs/performance/old.svg: does not belong to the page']);
  });
});
