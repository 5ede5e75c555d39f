/// A hybrid logical timestamp: `(ms since 2025-01-01T00:00Z) * 4096 + logical`, from zero to ``maxTimestamp``.
public typealias Timestamp = Int64

/// A transaction's id: 128 random bits of its session and a counter. See ``isTxId(_:)``.
public typealias TxId = String

/// A key with its keyspace in front: `default/todos/1`. Keyspace names hold no slash: the first one separates the two.
public typealias QualifiedKey = String

/// A region's id in the cluster file, for example `virginia`.
public typealias RegionId = String

/// The largest accepted timestamp. The room above it keeps arithmetic exact everywhere.
public let maxTimestamp: Timestamp = (1 << 53) - (1 << 40)

/// Logical steps in one millisecond.
public let hlcTicksPerMs: Timestamp = 4096

/// The wall clock's milliseconds since 1970 at the timestamp zero: 2025-01-01T00:00Z.
public let hlcEpochMs: Timestamp = 1_735_689_600_000

/// Whether a number from outside is a timestamp.
public func isTimestamp(_ number: Int64) -> Bool {
    number >= 0 && number <= maxTimestamp
}

/// The wall clock's milliseconds since 1970 of a timestamp, with a fraction for the logical part.
public func wallMs(of timestamp: Timestamp) -> Double {
    Double(hlcEpochMs) + Double(timestamp) / Double(hlcTicksPerMs)
}

/// The first timestamp of a wall-clock time.
public func packedWall(_ wallMs: Double) -> Timestamp {
    max(0, Timestamp(wallMs.rounded(.down)) - hlcEpochMs) * hlcTicksPerMs
}

/// Joins a keyspace and a key.
public func qualify(keyspace: String, key: String) -> QualifiedKey {
    "\(keyspace)/\(key)"
}

/// Splits a qualified key at its first slash. A text without a slash is the key.
///
/// Works on UTF-8: as a Swift character, a slash with a combining accent is not a slash.
public func unqualify(_ qualified: QualifiedKey) -> (keyspace: String, key: String) {
    guard let slash = qualified.utf8.firstIndex(of: UInt8(ascii: "/")) else { return ("", qualified) }
    let after = qualified.utf8.index(after: slash)
    return (String(qualified.unicodeScalars[..<slash]), String(qualified.unicodeScalars[after...]))
}

/// The id of a session's `counter`-th transaction.
public func txId(session: String, counter: UInt64) -> TxId {
    "\(session).\(String(counter, radix: 36))"
}

/// Whether a string has the form of a transaction id: 16 to 64 characters of base64url, a dot, a counter in base 36.
public func isTxId(_ text: String) -> Bool {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 2, let session = parts.first, let counter = parts.last else { return false }
    return (16...64).contains(session.count) && session.allSatisfy(isBase64URL)
        && (1...11).contains(counter.count) && counter.allSatisfy(isBase36)
}

private func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
private func isLower(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
private func isUpper(_ byte: UInt8) -> Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) }
private func isBase36(_ byte: UInt8) -> Bool { isDigit(byte) || isLower(byte) }

private func isBase64URL(_ byte: UInt8) -> Bool {
    isBase36(byte) || isUpper(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
}
