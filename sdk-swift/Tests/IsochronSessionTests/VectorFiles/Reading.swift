import Foundation

/// The folder of the vectors: from the environment, or the output folder of `test/vectors`.
func vectorsFolder() -> URL {
    if let named = ProcessInfo.processInfo.environment["ISOCHRON_VECTORS"] {
        return URL(fileURLWithPath: named, isDirectory: true)
    }
    let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let package = tests.deletingLastPathComponent().deletingLastPathComponent()
    return package.appendingPathComponent(".vectors", isDirectory: true)
}

/// The contents of a file of vectors.
func readVectors<Contents: Decodable>(_ name: String, as type: Contents.Type = Contents.self) throws -> Contents {
    let data = try Data(contentsOf: vectorsFolder().appendingPathComponent(name))
    return try JSONDecoder().decode(type, from: data)
}

/// The sequences of a protocol.
func readSequences<Event>(of protocolName: String) throws -> VectorFile<Event> {
    let file = try readVectors("sessions-\(protocolName).json", as: VectorFile<Event>.self)
    guard file.format == 1 else { throw VectorError.unknown("format \(file.format)") }
    return file
}
