import IsochronSession

/// Validates members of a frame: data of a server is not used before. An invalid member is FRAME_INVALID.
extension Raw {
    func members(_ name: String) throws -> Members {
        guard case .object(let members) = self else {
            throw IsochronError.malformed("a frame whose \(name) is no object")
        }
        return members
    }

    func items(_ name: String) throws -> [Raw] {
        guard case .array(let items) = self else { throw IsochronError.malformed("a frame whose \(name) is no list") }
        return items
    }

    /// The parts of a list with at least `count` of them; further ones are ignored.
    func parts(_ name: String, _ count: Int) throws -> [Raw] {
        let parts = try items(name)
        if parts.count < count { throw IsochronError.malformed("a frame whose \(name) has too few parts") }
        return parts
    }

    func text(_ name: String) throws -> String {
        guard case .string(let text) = self else { throw IsochronError.malformed("a frame whose \(name) is no text") }
        return text
    }

    func count(_ name: String) throws -> Int64 {
        guard let count = exactInteger, count >= 0 else {
            throw IsochronError.malformed("a frame whose \(name) is no count")
        }
        return count
    }

    func timestamp(_ name: String) throws -> Timestamp {
        guard let number = exactInteger, isTimestamp(number) else {
            throw IsochronError.malformed("a frame whose \(name) is no timestamp")
        }
        return number
    }

    func timestamps(_ name: String) throws -> [Timestamp] {
        try items(name).map { try $0.timestamp(name) }
    }

    /// One of a fixed list of texts.
    func choice<Choice: RawRepresentable<String>>(_ name: String) throws -> Choice {
        guard let choice = Choice(rawValue: try text(name)) else {
            throw IsochronError.malformed("a frame with an unknown \(name)")
        }
        return choice
    }

    /// Nil for null.
    var present: Raw? { self == .null ? nil : self }

    /// A document as its JSON text, or `{ bytes }`.
    func value() throws -> Value {
        if case .string(let text) = self { return .json(text) }
        guard case .object(let members) = self, case .string(let text) = members["bytes"] else {
            throw IsochronError.malformed("a value that is neither a document nor bytes")
        }
        guard let bytes = fromBase64(text) else { throw IsochronError.malformed("bytes that are not base64") }
        return .bytes(bytes)
    }

    /// What a write stored: a value, `{ operations }`, or null, which deletes.
    func content() throws -> Content {
        guard case .object(let members) = self, let operations = members["operations"] else {
            return Content(try present?.value())
        }
        let update = Update(operations: try operations.text("operations"))
        if let problem = update.problem { throw IsochronError.malformed("an update that is none: \(problem)") }
        return .update(update)
    }
}

extension Raw.Members {
    func required(_ name: String) throws -> Raw {
        guard let raw = self[name] else { throw IsochronError.malformed("a frame without \(name)") }
        return raw
    }

    func items(_ name: String) throws -> [Raw] { try required(name).items(name) }
    func text(_ name: String) throws -> String { try required(name).text(name) }
    func count(_ name: String) throws -> Int64 { try required(name).count(name) }
    func size(_ name: String) throws -> Int { Int(clamping: try count(name)) }
    func timestamp(_ name: String) throws -> Timestamp { try required(name).timestamp(name) }

    /// A timestamp, with the entries beside it if the frame has them.
    func snapshot(_ name: String) throws -> Snapshot {
        Snapshot(ts: try timestamp(name), deps: try self["deps"]?.timestamps("deps"))
    }
}

extension Array {
    /// Nil without elements.
    var nonEmpty: Self? { isEmpty ? nil : self }
}
