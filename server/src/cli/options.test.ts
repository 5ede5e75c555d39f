import { InvalidArgumentError } from 'commander';
import {
  endpoint,
  endpointList,
  hostNames,
  integer,
  nodeIds,
  nodeLimits,
  origins,
  peerDial,
  positive,
  regionList,
  signedInteger,
} from './options.js';

describe('integer', () => {
  it.each(['0', '11', '-1', '1.5', '1e1', '', ' 3', 'x', '0x5'])(
    'integer refuses %j for the bounds 1 to 10',
    (text) => {
      expect(() => integer(1, 10)(text)).toThrow(InvalidArgumentError);
    },
  );

  it('integer accepts both bounds', () => {
    expect([integer(1, 10)('1'), integer(1, 10)('10')]).toEqual([1, 10]);
  });
});

describe('other numbers', () => {
  it('positive takes fractions', () => {
    expect(positive('0.5')).toBe(0.5);
    expect(() => positive('0')).toThrow(InvalidArgumentError);
    expect(() => positive('Infinity')).toThrow(InvalidArgumentError);
  });

  it('signedInteger takes the negative skew of a slow clock', () => {
    expect(signedInteger('-250')).toBe(-250);
    expect(() => signedInteger('--1')).toThrow(InvalidArgumentError);
  });
});

describe('regionList', () => {
  it('regionList divides at commas', () => {
    expect(regionList('virginia, oregon')).toEqual(['virginia', 'oregon']);
  });

  it.each(['', 'a,', 'a,a', 'A', 'a b', '-a', 'x'.repeat(29)])('regionList refuses %j', (text) => {
    expect(() => regionList(text)).toThrow(InvalidArgumentError);
  });
});

describe('endpoint', () => {
  it('endpoint collects repetitions and lists', () => {
    const first = endpoint('http://a:1/', undefined);
    expect(endpoint('wss://b,https://c', first)).toEqual(['http://a:1', 'wss://b', 'https://c']);
  });

  it.each(['a:1', 'localhost', 'ftp://a', ''])('endpoint refuses %j', (text) => {
    expect(() => endpointList(text)).toThrow(InvalidArgumentError);
  });
});

describe('origins', () => {
  it('origins collects repetitions and lists', () => {
    expect(origins('http://localhost:5173, https://[::1]:1', origins('https://app.example'))).toEqual([
      'https://app.example',
      'http://localhost:5173',
      'https://[::1]:1',
    ]);
    expect(origins('*')).toEqual(['*']);
    expect(origins('')).toEqual([]);
  });

  it.each(['app.example', 'https://app.example/', 'https://app.example/path', 'null', 'https://APP.example'])(
    'origins refuses %j',
    (text) => {
      expect(() => origins(text)).toThrow(InvalidArgumentError);
    },
  );
});

describe('nodeIds', () => {
  it('nodeIds are different names with commas between them', () => {
    expect(nodeIds('a-1, b-1')).toEqual(['a-1', 'b-1']);
    for (const text of ['', ',', 'a-1,a-1']) expect(() => nodeIds(text)).toThrow(InvalidArgumentError);
  });
});

describe('hostNames', () => {
  it('hostNames collects repetitions and lists', () => {
    expect(hostNames('10.0.0.7,[::1]', hostNames('db.example'))).toEqual(['db.example', '10.0.0.7', '[::1]']);
  });

  it.each(['db.example:80', 'http://db', 'a b'])('hostNames refuses %j', (text) => {
    expect(() => hostNames(text)).toThrow(InvalidArgumentError);
  });
});

describe('peerDial', () => {
  it('peerDial collects repetitions and lists', () => {
    const first = peerDial('ireland-1=ws://a:1', undefined);
    expect(peerDial('oregon-1=ws://b:2, oregon-2=ws://[::1]:3', first)).toEqual({
      'ireland-1': 'ws://a:1',
      'oregon-1': 'ws://b:2',
      'oregon-2': 'ws://[::1]:3',
    });
  });

  it('peerDial takes an empty environment variable for an empty list', () => {
    expect(peerDial('')).toEqual({});
  });

  it.each(['ireland-1', '=ws://a:1', 'a=', 'a=ws://a:1,', 'a b=ws://a:1', 'a=ws://a:1,a=ws://b:2'])(
    'peerDial refuses %j',
    (text) => {
      expect(() => peerDial(text)).toThrow(InvalidArgumentError);
    },
  );
});

describe('nodeLimits', () => {
  it('nodeLimits takes limits by their names, one by one or as a list', () => {
    const first = nodeLimits('connections=10, waits=5');
    expect(nodeLimits('waits=6', first)).toEqual({ connections: 10, waits: 6 });
    expect(nodeLimits('')).toEqual({});
  });

  it.each(['connections', 'connections=', 'connections=-1', 'connections=0', 'connections=1.5', 'toString=1', 'x=1'])(
    'nodeLimits refuses %j',
    (text) => {
      expect(() => nodeLimits(text)).toThrow(InvalidArgumentError);
    },
  );
});
