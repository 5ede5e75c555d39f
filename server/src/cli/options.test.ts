import { InvalidArgumentError } from 'commander';
import {
  endpoint,
  endpointList,
  hostNames,
  integer,
  nodeLimits,
  origins,
  peerDial,
  positive,
  regionList,
  signedInteger,
} from './options.js';

describe('integer', () => {
  it.each(['0', '11', '-1', '1.5', '1e1', '', ' 3', 'x', '0x5'])('refuses %j outside of 1 to 10', (text) => {
    expect(() => integer(1, 10)(text)).toThrow(InvalidArgumentError);
  });

  it('accepts both bounds', () => {
    expect([integer(1, 10)('1'), integer(1, 10)('10')]).toEqual([1, 10]);
  });
});

describe('other numbers', () => {
  it('takes fractions where they make sense', () => {
    expect(positive('0.5')).toBe(0.5);
    expect(() => positive('0')).toThrow(InvalidArgumentError);
    expect(() => positive('Infinity')).toThrow(InvalidArgumentError);
  });

  it('takes a clock that goes slow', () => {
    expect(signedInteger('-250')).toBe(-250);
    expect(() => signedInteger('--1')).toThrow(InvalidArgumentError);
  });
});

describe('regionList', () => {
  it('divides at commas', () => {
    expect(regionList('virginia, oregon')).toEqual(['virginia', 'oregon']);
  });

  it.each(['', 'a,', 'a,a', 'A', 'a b', '-a', 'x'.repeat(29)])('refuses %j', (text) => {
    expect(() => regionList(text)).toThrow(InvalidArgumentError);
  });
});

describe('endpoint', () => {
  it('collects repetitions and lists', () => {
    const first = endpoint('http://a:1/', undefined);
    expect(endpoint('wss://b,https://c', first)).toEqual(['http://a:1', 'wss://b', 'https://c']);
  });

  it.each(['a:1', 'localhost', 'ftp://a', ''])('refuses %j', (text) => {
    expect(() => endpointList(text)).toThrow(InvalidArgumentError);
  });
});

describe('origins', () => {
  it('collects repetitions and lists', () => {
    expect(origins('http://localhost:5173, https://[::1]:1', origins('https://app.example'))).toEqual([
      'https://app.example',
      'http://localhost:5173',
      'https://[::1]:1',
    ]);
    expect(origins('*')).toEqual(['*']);
    expect(origins('')).toEqual([]);
  });

  it.each(['app.example', 'https://app.example/', 'https://app.example/path', 'null', 'https://APP.example'])(
    'refuses %j',
    (text) => {
      expect(() => origins(text)).toThrow(InvalidArgumentError);
    },
  );
});

describe('hostNames', () => {
  it('collects repetitions and lists', () => {
    expect(hostNames('10.0.0.7,[::1]', hostNames('db.example'))).toEqual(['db.example', '10.0.0.7', '[::1]']);
  });

  it.each(['db.example:80', 'http://db', 'a b'])('refuses %j', (text) => {
    expect(() => hostNames(text)).toThrow(InvalidArgumentError);
  });
});

describe('peerDial', () => {
  it('collects repetitions and lists', () => {
    const first = peerDial('ireland-1=ws://a:1', undefined);
    expect(peerDial('oregon-1=ws://b:2, oregon-2=ws://[::1]:3', first)).toEqual({
      'ireland-1': 'ws://a:1',
      'oregon-1': 'ws://b:2',
      'oregon-2': 'ws://[::1]:3',
    });
  });

  it('takes an empty environment variable for none', () => {
    expect(peerDial('')).toEqual({});
  });

  it.each(['ireland-1', '=ws://a:1', 'a=', 'a=ws://a:1,', 'a b=ws://a:1', 'a=ws://a:1,a=ws://b:2'])(
    'refuses %j',
    (text) => {
      expect(() => peerDial(text)).toThrow(InvalidArgumentError);
    },
  );
});

describe('nodeLimits', () => {
  it('takes limits by their names, one by one or as a list', () => {
    const first = nodeLimits('connections=10, waits=5');
    expect(nodeLimits('waits=6', first)).toEqual({ connections: 10, waits: 6 });
    expect(nodeLimits('')).toEqual({});
  });

  it.each(['connections', 'connections=', 'connections=-1', 'connections=0', 'connections=1.5', 'toString=1', 'x=1'])(
    'refuses %j',
    (text) => {
      expect(() => nodeLimits(text)).toThrow(InvalidArgumentError);
    },
  );
});
